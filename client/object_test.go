package client

import (
	"errors"
	"testing"

	"github.com/openrdap/rdap"
)

func TestResultObject(t *testing.T) {
	r := &Result{Raw: append([]byte("\xef\xbb\xbf"), fixture(t, "registry-thin")...)}
	obj, err := r.Object()
	if err != nil {
		t.Fatal(err)
	}
	d, ok := obj.(*rdap.Domain)
	if !ok || d.LDHName != "HARBOUR.EXAMPLE" {
		t.Errorf("%T %+v", obj, obj)
	}
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
	r := &Result{Err: cause}
	if _, err := r.Record(); !errors.Is(err, cause) {
		t.Errorf("Record: %v", err)
	}
	if _, err := r.Object(); !errors.Is(err, cause) {
		t.Errorf("Object: %v", err)
	}
	none := new(Result)
	if _, err := none.Record(); err == nil {
		t.Error("Record of nothing")
	}
	for _, body := range []string{"<p>", "null", `{"objectClassName":"x"}`} {
		r := &Result{Raw: []byte(body)}
		if obj, err := r.Object(); err == nil {
			t.Errorf("%s: %v", body, obj)
		}
	}
}
