package secret

import (
	"net/url"
	"slices"
	"testing"
)

func TestForms(t *testing.T) {
	const key = `k3y "of"/a+b<c>ü`
	s := NewSet([]string{key, "short"})
	for _, text := range []string{
		key, "?apikey=" + url.QueryEscape(key), "/" + url.PathEscape(key) + "/", "%6B not, but k3y%20%22of%22%2fa+b%3cc%3e%c3%bc",
		`"k3y \"of\"/a+b<c>ü"`, `"k3y \"of\"\/a+b<c>ü"`, `"k3y \"of\"/a+b\u003cc\u003eü"`,
	} {
		got, found := s.String("before " + text + " after")
		if !found || got == "before "+text+" after" || !s.In([]byte(text)) {
			t.Errorf("%s: %s", text, got)
		}
		if again, found := s.Bytes([]byte(got)); found || string(again) != got {
			t.Errorf("%s is redacted twice", got)
		}
	}
	for _, text := range []string{"short", "k3y", `k3y "of"`, ""} {
		if got, found := s.String(text); found || got != text {
			t.Errorf("%s: %s", text, got)
		}
	}
}

// TestJSON finds secrets whose characters are escaped in JSON.
func TestJSON(t *testing.T) {
	s := NewSet([]string{"s3cret/key\U0001f511"})
	for _, spelled := range []string{
		"s3cret/key\U0001f511", `\u00733cret\/key\ud83d\udd11`, `s3cret\u002Fke\u0079\uD83D\uDD11`, `s3cret%2Fkey%F0%9F%94%91`,
	} {
		got, found := s.JSON([]byte(`{"a":"\t\"` + spelled + `\n\u00e9","b":"` + spelled + `"}`))
		if want := `{"a":"\t\"REDACTED\n\u00e9","b":"REDACTED"}`; !found || string(got) != want {
			t.Errorf("%s: %s", spelled, got)
		}
	}
	for _, text := range []string{`{"a":"\u00733cret"}`, `{"a":"\"}`, `\`, `{"a":"\u12`} {
		if got, found := s.JSON([]byte(text)); found || string(got) != text {
			t.Errorf("%s: %s", text, got)
		}
	}
}

func TestNilSet(t *testing.T) {
	s := NewSet([]string{"short"})
	if s != nil {
		t.Fatal("a Set without secrets is not nil")
	}
	u, _ := url.Parse("https://rdap.example/short")
	if _, found := s.String("short"); found || s.In([]byte("short")) || s.InURL(u) {
		t.Error("a nil Set contains a secret")
	}
}

func TestURL(t *testing.T) {
	s := NewSet([]string{"pass word"})
	for text, want := range map[string]bool{
		"https://rdap.example/pass%20word/domain": true,
		"https://rdap.example/?q=pass+word":       true,
		"https://rdap.example/%70ass%20word":      true,
		"https://rdap.example/password":           false,
	} {
		u, err := url.Parse(text)
		if err != nil || s.InURL(u) != want {
			t.Errorf("%s: %v, %v", text, s.InURL(u), err)
		}
	}
	u, _ := url.Parse("https://user:pass@rdap.example/?api_key=a%20b&name=c&TOKEN=d")
	if got := OfURL(u); !slices.Equal(got, []string{"pass", "a%20b", "a b", "d"}) {
		t.Errorf("%q", got)
	}
}

func FuzzReplace(f *testing.F) {
	f.Add("abcdefgh", "xabcdefghx")
	f.Fuzz(func(t *testing.T, key, text string) {
		s := NewSet([]string{key})
		if got, found := s.JSON([]byte(text)); !found && string(got) != text {
			t.Errorf("%q in %q: %q", key, text, got)
		}
		got, found := s.String(text)
		if found && !s.In([]byte(text)) || !found && got != text {
			t.Errorf("%q in %q: %q, %v", key, text, got, found)
		}
	})
}
