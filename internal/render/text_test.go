package render

import (
	"bytes"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/testrun"
	"github.com/rdapq/rdapq/rdap"
)

func TestTextGolden(t *testing.T) {
	for name, r := range fixtures(t) {
		t.Run(name, func(t *testing.T) {
			got := AppendText(nil, r, TextOptions{Now: noon, Width: 90})
			golden(t, name+".txt", got)
		})
	}
}

func TestTextVerboseGolden(t *testing.T) {
	all := fixtures(t)
	for _, name := range []string{"domain-thick", "help", "entity", "domain-other"} {
		t.Run(name, func(t *testing.T) {
			golden(t, name+".verbose.txt", AppendText(nil, all[name], TextOptions{Now: noon, Verbose: true}))
		})
	}
}

func TestTextColour(t *testing.T) {
	r := fixtures(t)["domain-thin"]
	black := AppendText(nil, r, TextOptions{Now: noon})
	if bytes.ContainsRune(black, 0x1b) {
		t.Error("escape sequences without colour")
	}
	coloured := AppendText(nil, r, TextOptions{Now: noon, Color: true})
	golden(t, "domain-thin.colour.txt", coloured)
	if got := stripColour(string(coloured)); got != string(black) {
		t.Errorf("colour changes the text:\n%s\n%s", got, black)
	}
}

// stripColour removes only SGR sequences.
func stripColour(s string) string {
	var b strings.Builder
	for {
		i := strings.Index(s, "\x1b[")
		if i < 0 {
			b.WriteString(s)
			return b.String()
		}
		b.WriteString(s[:i])
		rest := strings.TrimLeft(s[i+2:], "0123456789;")
		if !strings.HasPrefix(rest, "m") {
			return b.String() + s[i:]
		}
		s = rest[1:]
	}
}

func TestTextNeverPromises(t *testing.T) {
	for name, r := range fixtures(t) {
		got := string(AppendText(nil, r, TextOptions{Now: noon}))
		for _, word := range []string{"available", "unregistered", "0001-01-01", "Invalid"} {
			if strings.Contains(got, word) {
				t.Errorf("%s says %q:\n%s", name, word, got)
			}
		}
	}
}

// TestTextOfUnicodeNotFound checks that a Unicode query is shown next to its A-labels.
func TestTextOfUnicodeNotFound(t *testing.T) {
	for text, want := range map[string]string{"bücher.example": "\n\nUnicode       bücher.example\nResult ", "xn--bcher-kva.example": "\n\nResult "} {
		q, err := client.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		r := &client.Result{Query: q, Verdict: client.VerdictNotFound, Status: 404, Refusal: &client.Error{Code: client.CodeNotFound, Message: "not found (404)"}}
		if got := string(AppendText(nil, r, TextOptions{Now: noon})); !strings.HasPrefix(got, "xn--bcher-kva.example: not found"+want) {
			t.Errorf("%s: %s", text, got)
		}
	}
}

func TestTextWidth(t *testing.T) {
	r := fixtures(t)["domain-thick"]
	for _, width := range []int{1, 40, 60, 100} {
		got := string(AppendText(nil, r, TextOptions{Now: noon, Width: width}))
		for _, l := range strings.Split(got, "\n") {
			value := strings.TrimSpace(l)
			if len(l) > labelWidth {
				value = strings.TrimSpace(l[labelWidth:])
			}
			if columns(l) > max(width, labelWidth+minValue) && strings.Contains(value, " ") {
				t.Errorf("width %d: %d columns in %q", width, columns(l), l)
			}
			if strings.TrimRight(l, " ") != l {
				t.Errorf("width %d: trailing space in %q", width, l)
			}
		}
	}
}

func TestTextSeparatesResults(t *testing.T) {
	all := fixtures(t)
	var out bytes.Buffer
	e, err := NewEncoder(FormatText, &out, Options{Text: TextOptions{Now: noon}})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"no-service", "not-found-empty"} {
		if err := e.Encode(all[name]); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); !strings.Contains(got, "\n\nalpha.example: not found") || strings.HasPrefix(got, "\n") || strings.HasSuffix(got, "\n\n") {
		t.Errorf("results are not one empty line apart:\n%s", got)
	}
}

// TestTextOfLongAnswers checks that time grows linearly with the length of lists in a response.
// Quadratic algorithms would take hours.
func TestTextOfLongAnswers(t *testing.T) {
	testrun.SkipWithRaceDetector(t)
	const n = 100_000
	list := func(item string) string { return "[" + strings.TrimSuffix(strings.Repeat(item+",", n), ",") + "]" }
	var distinct strings.Builder
	for i := range n {
		fmt.Fprintf(&distinct, `{"name":{"type":"Registrant %d"}},`, i)
	}
	for name, raw := range map[string]string{
		"entities":    `{"objectClassName":"domain","entities":` + list(`{"roles":["technical"],"vcardArray":["vcard",[["fn",{},"text","x"]]]}`) + `}`,
		"redacted":    `{"objectClassName":"domain","redacted":` + list(`{"name":{"type":"Registrant Name"}}`) + `}`,
		"of entity":   `{"objectClassName":"entity","roles":["registrant"],"redacted":[` + distinct.String() + `{}]}`,
		"events":      `{"objectClassName":"domain","events":` + list(`{"eventAction":"x","eventDate":"2024-03-01T00:00:00Z"}`) + `}`,
		"status":      `{"objectClassName":"domain","status":` + list(`"active"`) + `}`,
		"nameservers": `{"objectClassName":"domain","nameservers":` + list(`{"ldhName":"a.example"}`) + `}`,
	} {
		r := &client.Result{Query: client.Query{Type: client.TypeDomain}, Verdict: client.VerdictRegistered, Raw: []byte(raw)}
		for _, verbose := range []bool{false, true} {
			got := AppendText(nil, r, TextOptions{Now: noon, Width: 80, Verbose: verbose})
			if name == "entities" && !bytes.Contains(got, []byte("more contacts")) {
				t.Errorf("text does not mention omitted contacts, verbose %v", verbose)
			}
			if len(got) > 4*len(raw) {
				t.Errorf("%s: %d bytes of %d", name, len(got), len(raw))
			}
		}
	}
}

func TestStatusMeaning(t *testing.T) {
	tests := []struct{ status, want string }{
		{"client transfer prohibited", "transfer locked by the registrar"},
		{"server update prohibited", "changes locked by the registry"},
		{"delete prohibited", "deletion locked"},
		{"server hold", "removed from the DNS by the registry"},
		{"never heard of", ""},
		{"client sneeze prohibited", ""},
	}
	for _, tt := range tests {
		if got := statusMeaning(tt.status); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.status, got, tt.want)
		}
	}
}

func TestTextWithoutResponse(t *testing.T) {
	// The zero Result, and a Result whose body does not fit its verdict, must not crash.
	for _, r := range []*client.Result{
		{},
		{Verdict: client.VerdictRegistered},
		{Verdict: client.VerdictFound, Raw: []byte("<html>")},
		{Verdict: client.VerdictFound, Raw: []byte(`{"objectClassName":"thing","handle":"X"}`)},
		{Verdict: client.VerdictNotFound, Refusal: &client.Error{}},
	} {
		for _, verbose := range []bool{false, true} {
			if got := AppendText(nil, r, TextOptions{Verbose: verbose}); len(got) == 0 {
				t.Errorf("nothing for %+v", r)
			}
		}
	}
}

// TestContinuationLines checks that continuation lines are indented if there are several
// values, and that long words are not broken.
func TestContinuationLines(t *testing.T) {
	const long = "one two three four five six"
	for _, tt := range []struct {
		values []string
		want   string
	}{
		{[]string{long}, "Label         one two three four five\n              six\n"},
		{
			[]string{long, "seven", "a-word-that-has-30-characters- eight"},
			"Label         one two three four five\n                six\n              seven\n" +
				"              a-word-that-has-30-characters-\n                eight\n",
		},
	} {
		p := page{opt: TextOptions{Width: 38}, palette: newPalette(false)}
		p.row("Label", texts(tt.values)...)
		if got := string(p.buf); got != tt.want {
			t.Errorf("got\n%swant\n%s", got, tt.want)
		}
	}
}

// TestTextHasAllEvents checks that text shows every event of ICANN's response profile
// with its meaning, and unknown events.
func TestTextHasAllEvents(t *testing.T) {
	r := answered(t, "alpha.example", client.TypeDomain, "")
	r.Raw = []byte(`{"objectClassName":"domain","ldhName":"alpha.example","status":["frozen solid"],"events":[
		{"eventAction":"registration","eventDate":"2019-02-03T00:00:00Z"},{"eventAction":"expiration","eventDate":"2029-02-03T00:00:00Z"},
		{"eventAction":"registrar expiration","eventDate":"2028-02-03T00:00:00Z"},{"eventAction":"last changed","eventDate":"2023-02-03T00:00:00Z"},
		{"eventAction":"transfer","eventDate":"2022-02-03T00:00:00Z"},{"eventAction":"enchantment","eventDate":"2021-02-03T00:00:00Z"},
		{"eventAction":"last update of RDAP database","eventDate":"2024-02-29T00:00:00Z"}],
		"entities":[{"roles":["wizard"],"vcardArray":["vcard",[["fn",{},"text","Merlin"]]]}]}`)
	got := string(AppendText(nil, r, TextOptions{Now: noon, Verbose: true}))
	for _, want := range []string{
		"Created       2019-02-03T00:00:00Z (5 years ago)\n", "Expires       2029-02-03T00:00:00Z (4 years left)\n",
		"              2028-02-03T00:00:00Z (3 years left) according to the registrar\n", "Updated       2023-02-03T00:00:00Z (12 months ago)\n",
		"Transferred   2022-02-03T00:00:00Z (2 years ago)\n", "enchantment 2021-02-03T00:00:00Z (3 years ago)\n",
		"last update of RDAP database 2024-02-29T00:00:00Z (1 day ago)\n", "Status        frozen solid\n", "Wizard        Merlin\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
}

// TestTextOfBareObjects formats objects that have only a class.
func TestTextOfBareObjects(t *testing.T) {
	for class, typ := range map[string]client.Type{
		rdap.ClassDomain: client.TypeDomain, rdap.ClassIPNetwork: client.TypeIP, rdap.ClassAutnum: client.TypeAutnum,
		rdap.ClassEntity: client.TypeEntity, rdap.ClassNameserver: client.TypeNameserver,
	} {
		r := answered(t, "x", typ, "")
		r.Query.Prefix = netip.MustParsePrefix("192.0.2.1/32")
		r.Raw = []byte(`{"objectClassName":"` + class + `"}`)
		got := string(AppendText(nil, r, TextOptions{Now: noon}))
		checkText(t, got, false)
		if !strings.Contains(got, ": ") || strings.Contains(got, "0001-") || strings.Contains(got, "<nil>") {
			t.Errorf("%s:\n%s", class, got)
		}
		if class != rdap.ClassNameserver && !strings.Contains(got, notPublished) {
			t.Errorf("%s does not say what is missing:\n%s", class, got)
		}
	}
}
