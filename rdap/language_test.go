package rdap

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestParseLanguages(t *testing.T) {
	for text, want := range map[string][]string{
		"":                   nil,
		" ":                  nil,
		"de-AT, en":          {"de-AT", "en"},
		"zh-Hant-TW,zh,ja":   {"zh-Hant-TW", "zh", "ja"},
		"de-1996,x-whatever": {"de-1996", "x-whatever"},
	} {
		if tags, err := ParseLanguages(text); err != nil || !slices.Equal(tags, want) {
			t.Errorf("%q: %q, %v; want %q", text, tags, err, want)
		}
	}
	for _, text := range []string{",", "de,", "de;q=1", "*", "de_AT", "1de", "-", "de-", "abcdefghi", "de\r\nx", "a,b,c,d,e,f,g,h,i,j"} {
		if tags, err := ParseLanguages(text); err == nil || strings.ContainsAny(err.Error(), "\r\n") {
			t.Errorf("%q: %q, %v", text, tags, err)
		}
	}
}

func TestContactIn(t *testing.T) {
	const (
		jCard = `"vcardArray":["vcard",[
			["fn",{"language":"en"},"text","Blue Lamp"],["fn",{"language":"ja"},"text","青いランプ"],["fn",{},"text","Lamp"],
			["org",{"language":"ja"},"text","会社"],["org",{"language":"en"},"text","Company"],["title",{},"text","Chief"],["role",{"language":"fr"},"text","Rôle"],
			["adr",{"altid":"1","language":"ja"},"text",["","","","東京","","",""]],["adr",{"altid":"1","language":"en"},"text",["","","","Tokyo","","",""]],
			["adr",{"language":"ja"},"text",["","","","大阪","","",""]],["email",{},"text","a@lamp.example"]]]`
		jsContact = `"jscard":{"@type":"Card","language":"en","name":{"full":"Blue Lamp"},"organizations":{"o":{"name":"Company"}},
			"titles":{"t":{"name":"Chief"}},"addresses":{"a":{"full":"Tokyo"}},"emails":{"z":{"address":"z@lamp.example"},"a":{"address":"a@lamp.example"}},
			"localizations":{"ja":{"name":{"full":"青いランプ"},"organizations/o/name":"会社","titles/t/name":null,"addresses/a/full":"東京","nowhere/x/y":1},
			"fr":{"name/full":"Lampe bleue"}}}`
	)
	for _, tt := range []struct {
		name, card, languages string
		want                  Contact
	}{
		{"jCard ja", jCard, "ja", Contact{
			Name: "青いランプ", Org: "会社", Title: "Chief", Role: "Rôle", Emails: []string{"a@lamp.example"},
			Addresses: []Address{{Lines: []string{"東京"}}, {Lines: []string{"大阪"}}},
		}},
		{"jCard en", jCard, "de,en", Contact{
			Name: "Blue Lamp", Org: "Company", Title: "Chief", Role: "Rôle", Emails: []string{"a@lamp.example"},
			Addresses: []Address{{Lines: []string{"Tokyo"}}, {Lines: []string{"大阪"}}},
		}},
		{"jCard none of them", jCard, "de", Contact{
			Name: "Lamp", Org: "会社", Title: "Chief", Role: "Rôle", Emails: []string{"a@lamp.example"},
			Addresses: []Address{{Lines: []string{"東京"}}, {Lines: []string{"Tokyo"}}, {Lines: []string{"大阪"}}},
		}},
		{"JSContact ja", jsContact, "ja-JP,en", Contact{
			Name: "青いランプ", Org: "会社", Langs: []string{"en"}, Emails: []string{"z@lamp.example", "a@lamp.example"},
			Addresses: []Address{{Lines: []string{"東京"}}},
		}},
		{"JSContact fr", jsContact, "fr", Contact{
			Name: "Lampe bleue", Org: "Company", Title: "Chief", Langs: []string{"en"}, Emails: []string{"z@lamp.example", "a@lamp.example"},
			Addresses: []Address{{Lines: []string{"Tokyo"}}},
		}},
		{"JSContact en", jsContact, "en,ja", Contact{
			Name: "Blue Lamp", Org: "Company", Title: "Chief", Langs: []string{"en"}, Emails: []string{"z@lamp.example", "a@lamp.example"},
			Addresses: []Address{{Lines: []string{"Tokyo"}}},
		}},
	} {
		rec, err := Read([]byte(`{"objectClassName":"entity",` + tt.card + `}`))
		if err != nil {
			t.Fatal(err)
		}
		languages, err := ParseLanguages(tt.languages)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(tt.want, rec.ContactIn(languages), cmpopts.IgnoreFields(Contact{}, "Others")); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, d)
		}
		if d := cmp.Diff(rec.Contact(), rec.ContactIn(nil)); d != "" {
			t.Errorf("%s, no language:\n%s", tt.name, d)
		}
	}
}
