package rdap

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// cardSeeds returns the cards of all responses in testdata.
func cardSeeds(f *testing.F, member string) {
	for _, pattern := range []string{"testdata/*.json", "testdata/shapes/*.json"} {
		files, _ := filepath.Glob(pattern)
		for _, file := range files {
			raw, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			var doc any
			if json.Unmarshal(raw, &doc) == nil {
				addCards(f, doc, member)
			}
		}
	}
}

func addCards(f *testing.F, doc any, member string) {
	switch v := doc.(type) {
	case []any:
		for _, item := range v {
			addCards(f, item, member)
		}
	case map[string]any:
		for name, item := range v {
			if name != member {
				addCards(f, item, member)
			} else if card, err := json.Marshal(item); err == nil {
				f.Add(card)
			}
		}
	}
}

func FuzzJCard(f *testing.F) {
	cardSeeds(f, "vcardArray")
	f.Add([]byte(`["vcard",[["fn",{},"text",["a",["b"]]],["tel",{"type":["fax",7],"language":"en","altid":"1"},"uri","fax:%zz;ext=%41"],["adr",{"label":["x\ny"],"cc":1},"text",[[],[null],"\ud800"]],["email",{"TYPE":"abuse"},"text","mailto:%20"]]]`))
	f.Add([]byte(`["vcard",[["tel",{"type":["voice"]},"uri","FAX:+1"]]]`))
	f.Fuzz(func(t *testing.T, card []byte) { checkCard(t, "vcardArray", card) })
}

func FuzzJSContact(f *testing.F) {
	cardSeeds(f, "jscard")
	f.Add([]byte(`{"name":{"components":[{"kind":"given"},null]},"titles":{"":{"kind":7,"name":["x"]}},"links":[{}],"phones":{"p":{"number":"tel:","features":[true]}},"addresses":{"a":{"components":{"kind":"country","value":"X"}}}}`))
	f.Fuzz(func(t *testing.T, card []byte) { checkCard(t, "jscard", card) })
}

// checkCard checks the invariants of every card.
func checkCard(t *testing.T, member string, card []byte) {
	t.Helper()
	if !isValid(card) {
		return
	}
	answer := slices.Concat([]byte(`{"objectClassName":"entity","`+member+`":`), card, []byte("}"))
	rec, err := Read(answer)
	if err != nil {
		return // the card nests too deeply
	}
	c := rec.Contact()
	for _, p := range c.Problems {
		if !strings.HasPrefix(p.Path, member) || p.Message == "" {
			t.Fatalf("problem %q", p)
		}
	}
	if len(c.Problems) > maxProblems {
		t.Fatalf("%d problems", len(c.Problems))
	}
	for _, lists := range [][]string{{c.Name, c.Kind, c.Org, c.Title, c.Role, c.AbuseEmail}, c.Emails, c.ContactURIs, c.URLs, c.Langs} {
		for _, s := range lists {
			if !utf8.ValidString(s) {
				t.Fatalf("%q in %+v", s, c)
			}
		}
	}
	for _, lists := range [][]string{c.Emails, c.ContactURIs, c.URLs, c.Langs} {
		if slices.Contains(lists, "") {
			t.Fatalf("an empty value in %+v", c)
		}
	}
	if c.AbuseEmail != "" && !slices.Contains(c.Emails, c.AbuseEmail) {
		t.Fatalf("%q is not one of %q", c.AbuseEmail, c.Emails)
	}
	for _, a := range c.Addresses {
		if a.empty() || slices.Contains(a.Lines, "") {
			t.Fatalf("an empty address in %+v", c)
		}
	}
	for _, p := range c.Phones {
		if p.Number == "" || p.String() == "" {
			t.Fatalf("an empty number in %+v", c)
		}
	}
	// A Summary reads less of the card, with the same result.
	s, _, err := Summarize(answer)
	if name := cmp.Or(c.Name, c.Org); err != nil || s.Name != name || s.AbuseEmail != c.AbuseEmail {
		t.Fatalf("%v: summary %+v of %+v", err, s, c)
	}
	abuse := slices.Concat([]byte(`{"objectClassName":"domain","entities":[{"roles":["abuse"],"`+member+`":`), card, []byte("}]}"))
	if s, _, err = Summarize(abuse); err == nil && (s.AbuseEmail != c.mail() || s.AbusePhone != c.phone()) {
		t.Fatalf("summary %+v of %+v", s, c)
	}
	// Another language must not change the contact itself.
	local := rec.ContactIn([]string{"ja", "en"})
	if !slices.Equal(local.Emails, c.Emails) || len(local.Phones) != len(c.Phones) || !utf8.ValidString(local.Name+local.Org) {
		t.Fatalf("%+v in another language: %+v", c, local)
	}
	if again := rec.Contact(); len(again.Problems) != len(c.Problems) || again.Name != c.Name {
		t.Fatal("a second call returned another contact")
	}
}
