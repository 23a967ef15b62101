package ianafile

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	day := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	one := []Service{{Keys: []string{"zz"}, URLs: []string{"https://zz.invalid/"}}}
	for name, tt := range map[string]struct {
		in     string
		tagged bool
		want   *File // expected result; nil means an error
	}{
		"plain":            {`{"version":"1.0","publication":"2026-01-02T03:04:05Z","services":[[["zz"],["https://zz.invalid/"]]]}`, false, &File{day, one}},
		"byte-order mark":  {"\xef\xbb\xbf" + `{"services":[[["zz"],["https://zz.invalid/"]]]}`, false, &File{Services: one}},
		"unknown members":  {`{"x":{"services":[1]},"services":[[["zz"],["https://zz.invalid/"],{"new":1}]],"y":[[]]}`, false, &File{Services: one}},
		"unknown values":   {`{"publication":7,"services":[null,"zz",[],[[]],[["zz",7,null],["https://zz.invalid/",{}]],[["a"],"b"]]}`, false, &File{Services: one}},
		"bad date":         {`{"publication":"yesterday","services":[[["zz"],["https://zz.invalid/"]]]}`, false, &File{Services: one}},
		"three arrays":     {`{"services":[[["a@b.invalid"],["zz"],["https://zz.invalid/"]]]}`, true, &File{Services: one}},
		"two of three":     {`{"services":[[["zz"],["https://zz.invalid/"]]]}`, true, nil},
		"repeated member":  {`{"services":[[["a"],["b"]]],"services":[[["zz"],["https://zz.invalid/"]]]}`, false, &File{Services: one}},
		"empty":            {"", false, nil},
		"only a mark":      {"\xef\xbb\xbf \n", false, nil},
		"html":             {"<html>captive portal</html>", false, nil},
		"array":            {`[[["zz"],["https://zz.invalid/"]]]`, false, nil},
		"null":             {`null`, false, nil},
		"no services":      {`{"version":"1.0"}`, false, nil},
		"empty services":   {`{"services":[]}`, false, nil},
		"services object":  {`{"services":{}}`, false, nil},
		"torn":             {`{"services":[[["zz"],["https://zz.invalid/"]]`, false, nil},
		"torn in a string": {`{"services":[[["zz"],["https://zz.inv`, false, nil},
		"something after":  {`{"services":[[["zz"],["https://zz.invalid/"]]]} x`, false, nil},
		"two objects":      {`{"services":[[["zz"],["https://zz.invalid/"]]]}{}`, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Parse([]byte(tt.in), tt.tagged)
			if tt.want == nil {
				if !errors.Is(err, ErrMalformed) {
					t.Fatalf("got %+v, %v; want ErrMalformed", got, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestReadMember(t *testing.T) {
	doc := []byte(`{"note":[{}],"registries":{"ipv4":{"services":[[["192.0.2.0/24"],["https://a.invalid/"]]]},"asn":{"services":[]}}}`)
	f, err := ReadMember(doc, "ipv4", false)
	if err != nil || len(f.Services) != 1 {
		t.Errorf("ipv4: %+v, %v", f, err)
	}
	for _, name := range []string{"asn", "dns"} {
		if f, err := ReadMember(doc, name, false); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %+v, %v; want ErrMalformed", name, f, err)
		}
	}
}
