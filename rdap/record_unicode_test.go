package rdap

import (
	"strings"
	"testing"
)

func TestUnicodeName(t *testing.T) {
	for _, tt := range []struct {
		ldh, unicode string
		keep         bool
	}{
		{"xn--bcher-kva.example", "bücher.example", true},
		{"XN--BCHER-KVA.EXAMPLE.", "Bücher.example", true},
		{"xn--bcher-kva.example", "bücher。example.", true},
		{"xn--bcher-kva.example", "bu\u0308cher.example", true},
		{"xn--strae-oqa.example", "straße.example", true},
		{"xn--i-7iq.example", "i❤.example", true},
		{"plain.example", "PLAIN.example.", true},
		{"bücher.example", "bücher.example", true},
		{"", "bücher.example", true},
		{"xn--bcher-kva.example", "paypal.example", false},
		{"xn--bcher-kva.example", "bücher.example.evil", false},
		{"xn--bcher-kva.example", "bucher.example", false},
		{"paypal.example", "pаypal.example", false}, // with a Cyrillic letter
		{"xn--zzz-.example", "x.example", false},
		{"a.example", "a.example\u202e", false},
	} {
		want, problems := tt.unicode, 0
		if !tt.keep {
			want, problems = "", 1
		}
		names := `"ldhName":"` + tt.ldh + `","unicodeName":"` + tt.unicode + `"`
		for class, body := range map[string]string{
			ClassDomain:     `{"objectClassName":"domain",` + names + `}`,
			ClassNameserver: `{"objectClassName":"nameserver",` + names + `}`,
		} {
			rec, err := Read([]byte(body))
			if err != nil || rec.UnicodeName != want || len(rec.Problems) != problems {
				t.Errorf("%s %s: %q, problems %v, %v", class, names, rec.UnicodeName, rec.Problems, err)
			}
			s, lost, err := Summarize([]byte(body))
			if err != nil || s.UnicodeName != want || len(lost) != problems || problems > 0 && (!lost[0].Discarded || !strings.Contains(lost[0].Message, "is not the Unicode form")) {
				t.Errorf("%s %s: summary %q, %v, %v", class, names, s.UnicodeName, lost, err)
			}
		}
		rec, err := Read([]byte(`{"objectClassName":"domain","nameservers":[{` + names + `}],"variants":[{"variantNames":[{` + names + `}]}]}`))
		if err != nil || rec.Nameservers[0].UnicodeName != want || rec.Variants[0].Names[0].UnicodeName != want || len(rec.Problems) != 2*problems {
			t.Errorf("%s inside: %+v, %v", names, rec, err)
		}
	}
}
