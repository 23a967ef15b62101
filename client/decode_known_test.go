package client

import (
	"bytes"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rdapq/rdapq/internal/rdaptest"
)

// looked is a Result that knows of raw what a lookup would.
func looked(raw []byte) *Result {
	r := &Result{Raw: raw}
	s, _ := surveyAnswer(raw)
	r.learn(s)
	return r
}

// checkKnown compares what a Result gives with what the functions give that
// look at the bytes alone.
func checkKnown(t *testing.T, r *Result) {
	t.Helper()
	wantOut, wantWarnings, wantErr := Compact([]byte("x"), r.Raw)
	out, warnings, err := r.Compact([]byte("x"))
	if !bytes.Equal(out, wantOut) || !cmp.Equal(warnings, wantWarnings) || (err == nil) != (wantErr == nil) {
		t.Fatalf("compact %q, %q, %v, want %q, %q, %v", out, warnings, err, wantOut, wantWarnings, wantErr)
	}
	wantSummary, wantProblems, wantErr := Summarise(r.Raw)
	summary, problems, err := r.Summarise()
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("summarise: %v, want %v", err, wantErr)
	}
	if d := cmp.Diff(wantSummary, summary) + cmp.Diff(wantProblems, problems, cmpopts.EquateEmpty()); d != "" {
		t.Fatal(d)
	}
	wantRecord, wantErr := ReadRecord(r.Raw)
	record, err := r.readRecord()
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("record: %v, want %v", err, wantErr)
	}
	if d := cmp.Diff(wantRecord, record, cmp.AllowUnexported(Card{}, Record{}, Entity{}), cmpopts.IgnoreFields(Card{}, "source"), cmpopts.EquateComparable(netip.Prefix{})); d != "" {
		t.Fatal(d)
	}
}

func TestKnown(t *testing.T) {
	bodies := [][]byte{
		[]byte(" {\n\"objectClassName\" : \"domain\", \"a\": [ 1 , 2 ] }\r\n"),
		[]byte("\xef\xbb\xbf{\"objectClassName\":\"domain\"}"),
		[]byte("{\"objectClassName\":\"domain\",\"ldhName\":\"\u202e\xff\"}"),
		[]byte("{\"objectClassName\":\"domain\",\"handle\":\"a\tb\"}"),
		[]byte(`{"objectClassName":"domain"} <!-- x -->`),
		[]byte(`[]`),
		[]byte(`{}`),
		nil,
	}
	files, _ := filepath.Glob("testdata/*.json")
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		tight, _, err := Compact(nil, raw)
		if err != nil {
			t.Fatal(err)
		}
		bodies = append(bodies, raw, tight)
	}
	for _, raw := range bodies {
		checkKnown(t, looked(raw))
	}
}

// A lookup must leave its Result in the know, or all of it is for nothing.
func TestLookupLearns(t *testing.T) {
	s := rdaptest.Start(t, rdaptest.Config{})
	s.On("/domain/gone.example", rdaptest.Status(404), rdaptest.Body("application/rdap+json", `{"errorCode":404}`))
	c, err := New(Config{Transport: s.Client().Transport})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for name, class := range map[string]string{"known.example": ClassDomain, "gone.example": ClassError} {
		q, err := Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		q.Server = s.URL()
		r, err := c.Lookup(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if k := r.survey(); !k.valid || !k.tight || !k.plain || k.class != class {
			t.Errorf("%s: %+v", name, k)
		}
		checkKnown(t, r)
	}
}

// What a Result knows is forgotten once it has another body.
func TestKnownOfAnotherBody(t *testing.T) {
	first := []byte(`{"objectClassName":"domain","ldhName":"one.example"}`)
	for _, other := range [][]byte{
		bytes.Replace(first, []byte("one"), []byte("two"), 1),
		[]byte("{ \"objectClassName\":\"domain\" }"),
		[]byte("<html>"),
		nil,
	} {
		r := looked(first)
		r.Raw = other
		checkKnown(t, r)
		r.Raw = first[:len(first)-1]
		checkKnown(t, r)
	}
}

// A walk over what is no JSON after all must end, and not leave the text.
func FuzzWalk(f *testing.F) {
	seed(f)
	f.Add([]byte(`{"entities":[{"vcardArray":["vcard",[["adr",{"type":`))
	f.Add([]byte(`{"events":[{]}],"nameservers":"x\`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if _, err := new(Result{Raw: raw}).readRecord(); err == nil {
			checkKnown(t, looked(raw))
		}
		for _, brief := range []bool{false, true} {
			r := newReader(raw, "")
			r.brief = brief
			rec := new(Record)
			r.record(rec)
			s := summarizer{reader: *r}
			s.record(rec)
		}
		if tight := appendTight(nil, raw); len(tight) > len(raw) {
			t.Fatalf("%q is longer than %q", tight, raw)
		}
	})
}

// BenchmarkKnown does what is done with each answer of a batch after its body
// is read, step by step.
func BenchmarkKnown(b *testing.B) {
	raw := benchAnswer(b)
	r := looked(raw)
	b.Run("survey", func(b *testing.B) {
		b.SetBytes(int64(len(raw)))
		b.ReportAllocs()
		for b.Loop() {
			if s := surveyOf(raw); !s.valid || !s.tight || !s.plain {
				b.Fatalf("%+v", s)
			}
		}
	})
	b.Run("summarise", func(b *testing.B) {
		b.SetBytes(int64(len(raw)))
		b.ReportAllocs()
		for b.Loop() {
			if _, _, err := r.Summarise(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("compact", func(b *testing.B) {
		b.SetBytes(int64(len(raw)))
		b.ReportAllocs()
		var buf []byte
		for b.Loop() {
			buf, _, _ = r.Compact(buf[:0])
		}
	})
}
