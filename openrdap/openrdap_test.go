package openrdap_test

import (
	"errors"
	"os"
	"testing"

	model "github.com/openrdap/rdap"

	"github.com/rdapq/rdapq/openrdap"
	"github.com/rdapq/rdapq/rdap"
)

func TestObject(t *testing.T) {
	raw, err := os.ReadFile("../rdap/testdata/registry-thin.json")
	if err != nil {
		t.Fatal(err)
	}
	obj, err := openrdap.Object(append([]byte("\xef\xbb\xbf"), raw...))
	if err != nil {
		t.Fatal(err)
	}
	if d, ok := obj.(*model.Domain); !ok || d.LDHName != "HARBOUR.EXAMPLE" {
		t.Errorf("%T %+v", obj, obj)
	}
	for _, body := range []string{"", "<p>", "null", `{"objectClassName":"x"}`} {
		obj, err := openrdap.Object([]byte(body))
		if _, ok := errors.AsType[*rdap.FormatError](err); !ok {
			t.Errorf("%s: %v, %v", body, obj, err)
		}
	}
}

// The model must not panic, whatever a server sends.
func FuzzObject(f *testing.F) {
	for _, s := range []string{`{"objectClassName":"domain"}`, `{"objectClassName":"ip network","startAddress":null}`, `{"entities":[{"vcardArray":[]}]}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if obj, err := openrdap.Object(raw); err == nil && obj == nil {
			t.Error("neither an object nor an error")
		}
	})
}
