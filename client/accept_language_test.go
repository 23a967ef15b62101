package client

import (
	"testing"

	"github.com/rdapq/rdapq/rdap"
)

func TestAcceptLanguage(t *testing.T) {
	for text, field := range map[string]string{
		"":                   "",
		" ":                  "",
		"de":                 "de",
		"de-AT, en":          "de-AT, en;q=0.9",
		"zh-Hant-TW,zh,ja":   "zh-Hant-TW, zh;q=0.9, ja;q=0.8",
		"a,b,c,d,e,f,g,h,i":  "a, b;q=0.9, c;q=0.8, d;q=0.7, e;q=0.6, f;q=0.5, g;q=0.4, h;q=0.3, i;q=0.2",
		"de-1996,x-whatever": "de-1996, x-whatever;q=0.9",
	} {
		tags, err := rdap.ParseLanguages(text)
		if got := acceptLanguage(tags); err != nil || got != field {
			t.Errorf("%q: %q, %v; want %q", text, got, err, field)
		}
	}
}
