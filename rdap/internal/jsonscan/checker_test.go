package jsonscan

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// TestHooks checks which members and objects a Checker reports. Members get ranks by their
// names, and Object gets the last value with the highest rank.
func TestHooks(t *testing.T) {
	const (
		first  = `{"lo":"low 1","hi":"high 1","lo":"low 2"}`
		second = `{"lo":"low 3","lo":"low 4","x":1}`
		list   = "[" + first + "," + second + "]"
		text   = `{"a":` + list + `,"b":{"hi":"h"},"hi":"high 2"}`
	)
	var c Checker
	var got []string
	c.Hooks = Hooks{
		Member: func(name, value []byte) { got = append(got, fmt.Sprintf("member %s %s", name, value)) },
		String: func(depth int, _ []byte) int {
			return map[string]int{"lo": 1, "hi": 2}[string(c.Member(depth))]
		},
		MinString: len("low 1"), MaxString: len("high 1"),
		Object: func(depth int, object, value []byte, rank int) {
			got = append(got, fmt.Sprintf("object %q %s %s %d", c.Path(depth-1), object, value, rank))
		},
	}
	want := []string{
		`object "a[0]" ` + first + ` "high 1" 2`, `object "a[1]" ` + second + ` "low 4" 1`,
		"member a " + list, `member b {"hi":"h"}`, `member hi "high 2"`, `object "" ` + text + ` "high 2" 2`,
	}
	for range 2 { // a Checker can be used again
		got = nil
		if !c.Check([]byte(" "+text)) || c.HasSpace() || !c.IsASCII() || !slices.Equal(got, want) {
			t.Errorf("space %v, ASCII %v\n%q\nwant\n%q", c.HasSpace(), c.IsASCII(), got, want)
		}
		c.Release()
	}
}

// TestLongContainers checks that the first containers which are long and the value of a
// member are recorded with their ends, by start.
func TestLongContainers(t *testing.T) {
	long := fmt.Sprintf("%q", bytes.Repeat([]byte("n"), minLong))
	list := `[{"a":[1],"b":{"c":{"d":[` + long + `]},"e":{}}},[` + long + `]]`
	short := `[` + long[:minLong-4] + `"]`
	text := `{"short":` + short + `,"list":` + list + `,"s":` + long + `,"last":[` + long + `]}`
	var c Checker
	for range 2 { // a Checker can be used again
		if !c.Check([]byte(text)) {
			t.Fatal("invalid")
		}
		var got []string
		for _, s := range c.LongContainers() {
			got = append(got, text[s.Start:s.End])
		}
		want := []string{list, `{"c":{"d":[` + long + `]},"e":{}}`, `{"d":[` + long + `]}`, `[` + long + `]`, `[` + long + `]`}
		if !slices.Equal(got, want) {
			t.Errorf("%q\nwant\n%q", got, want)
		}
	}
	many := "{" + strings.Repeat(`"a":[`+long+`],`, 2*maxLong) + `"b":1}`
	if !c.Check([]byte(many)) || len(c.LongContainers()) != maxLong {
		t.Errorf("%d containers", len(c.LongContainers()))
	}
}

// TestCheck checks that Check rejects data other than one object.
func TestCheck(t *testing.T) {
	for text, want := range map[string]bool{
		"{}": true, " {} \n": true, `{"a":1}x`: false, "{}{}": false, "[]": false, `"a"`: false, "": false, `{"a":1,}`: false,
	} {
		var c Checker
		if got := c.Check([]byte(text)); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

// TestCheckBytes checks each byte at each offset of a string, alone and twice, against
// jsontext. The Checker tests eight bytes at a time.
func TestCheckBytes(t *testing.T) {
	for b := range 256 {
		for at := range 20 {
			for _, twice := range []bool{false, true} {
				s := bytes.Repeat([]byte("n"), 19)
				if at < 19 {
					s[at] = byte(b)
				}
				if twice {
					s[18] = byte(b)
				}
				text := slices.Concat([]byte(`{"a":"`), s, []byte(`","b":""}`))
				var c Checker
				want := jsontext.Value(text).IsValid(jsontext.AllowInvalidUTF8(true))
				if got := c.Check(text); got != want {
					t.Fatalf("%q: %v, want %v", text, got, want)
				}
				if got := c.HasEscape(); want && got != bytes.ContainsRune(text, '\\') {
					t.Fatalf("%q: escape %v", text, got)
				}
				if start := len(`{"a":`); want && StringEnd(text, start) != len(text)-len(`,"b":""}`) {
					t.Fatalf("%q: the string ends at %d", text, StringEnd(text, start))
				}
			}
		}
	}
}
