package client

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/rdap"
)

func TestResultRecord(t *testing.T) {
	r := &Result{Raw: append([]byte("\xef\xbb\xbf"), thinRegistry(t)...)}
	rec, err := r.Record()
	if err != nil || rec.LDHName != "HARBOUR.EXAMPLE" {
		t.Errorf("%+v, %v", rec, err)
	}
	if s := r.Summary(); s.Name != "harbour.example" {
		t.Errorf("%+v", s)
	}
}

func TestResultWithoutAnswer(t *testing.T) {
	cause := &Error{Code: CodeTimeout, Message: "no answer within 15s"}
	r := &Result{Failure: cause}
	if _, err := r.Record(); !errors.Is(err, cause) {
		t.Errorf("Record: %v", err)
	}
	none := new(Result)
	if _, err := none.Record(); err == nil {
		t.Error("Record of nothing")
	}
}

// thinRegistry returns the response of a registry that has no contacts.
func thinRegistry(t *testing.T) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "rdap", "testdata", "registry-thin.json"))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// A lookup parses the body of its Result once, for all accessors.
func TestLookupParses(t *testing.T) {
	s := rdaptest.Start(t, rdaptest.Config{})
	s.On("/domain/gone.example", rdaptest.Status(404), rdaptest.Body("application/rdap+json", `{"errorCode":404}`))
	c, err := New(Config{Transport: s.Client().Transport})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for name, class := range map[string]string{"known.example": rdap.ClassDomain, "gone.example": rdap.ClassError} {
		q, err := Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		q.Server = s.URL()
		r, err := c.Lookup(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		first, err := r.Response()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := first.Class(); got != class || err != nil || !first.IsExact() {
			t.Errorf("%s: class %q, %v", name, got, err)
		}
		if second, _ := r.Response(); second != first {
			t.Errorf("%s: checked again", name)
		}
	}
}

// The parsed state of one body is not used for another body.
func TestResponseOfAnotherBody(t *testing.T) {
	first := []byte(`{"objectClassName":"domain","ldhName":"one.example"}`)
	for _, other := range [][]byte{
		bytes.Replace(first, []byte("one"), []byte("two"), 1),
		[]byte("{ \"objectClassName\":\"entity\" }"),
		[]byte("<html>"),
		first[:len(first)-1],
		nil,
	} {
		r := &Result{Raw: first}
		if _, err := r.parse(); err != nil {
			t.Fatal(err)
		}
		r.Raw = other
		got, err := r.Record()
		want, wantErr := rdap.Read(other)
		if (err == nil) != (wantErr == nil) || err == nil && (got.LDHName != want.LDHName || got.Class != want.Class) {
			t.Errorf("%q: %+v, %v; want %+v, %v", other, got, err, want, wantErr)
		}
	}
}
