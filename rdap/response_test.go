package rdap

import (
	"bytes"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// checkResponse compares the methods of a Response with the functions on the response's bytes.
func checkResponse(t *testing.T, raw []byte) {
	t.Helper()
	r, err := Parse(raw)
	wantRecord, wantErr := Read(raw)
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("%v, want %v", err, wantErr)
	}
	if err != nil {
		return
	}
	wantOut, wantWarnings, wantErr := Compact([]byte("x"), raw)
	out, warnings, err := r.AppendCompact([]byte("x"))
	if !bytes.Equal(out, wantOut) || !cmp.Equal(warnings, wantWarnings) || (err == nil) != (wantErr == nil) {
		t.Fatalf("compact %q, %q, %v, want %q, %q, %v", out, warnings, err, wantOut, wantWarnings, wantErr)
	}
	wantSummary, wantProblems, wantErr := Summarize(raw)
	if wantErr != nil {
		t.Fatal(wantErr)
	}
	summary, problems := r.Summary()
	if d := cmp.Diff(wantSummary, summary) + cmp.Diff(wantProblems, problems, cmpopts.EquateEmpty()); d != "" {
		t.Fatal(d)
	}
	if d := cmp.Diff(wantRecord, r.Record(), cmp.AllowUnexported(Card{}, Record{}, Entity{}), cmpopts.IgnoreFields(Card{}, "source"), cmpopts.EquateComparable(netip.Prefix{})); d != "" {
		t.Fatal(d)
	}
}

func TestResponse(t *testing.T) {
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
		minified, _, err := Compact(nil, raw)
		if err != nil {
			t.Fatal(err)
		}
		bodies = append(bodies, raw, minified)
	}
	for _, raw := range bodies {
		checkResponse(t, raw)
	}
}

// A walk over invalid JSON must terminate and stay within the text.
func FuzzWalk(f *testing.F) {
	seed(f)
	f.Add([]byte(`{"entities":[{"vcardArray":["vcard",[["adr",{"type":`))
	f.Add([]byte(`{"events":[{]}],"nameservers":"x\`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		checkResponse(t, raw)
		for _, brief := range []bool{false, true} {
			r := newReader(raw, "")
			r.summaryOnly = brief
			rec := new(Record)
			r.record(rec)
			s := summarizer{reader: *r}
			s.record(rec)
		}
		if minified := appendMinified(nil, raw); len(minified) > len(raw) {
			t.Fatalf("%q is longer than %q", minified, raw)
		}
	})
}

// BenchmarkResponse runs each step that a batch takes on a response body.
func BenchmarkResponse(b *testing.B) {
	raw := benchAnswer(b)
	r, err := Parse(raw)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("scan", func(b *testing.B) {
		b.SetBytes(int64(len(raw)))
		b.ReportAllocs()
		for b.Loop() {
			if s := scanOf(raw); !s.isValid || !s.minified || !s.plain {
				b.Fatalf("%+v", s)
			}
		}
	})
	b.Run("summarize", func(b *testing.B) {
		b.SetBytes(int64(len(raw)))
		b.ReportAllocs()
		for b.Loop() {
			if _, problems := r.Summary(); len(problems) > 0 {
				b.Fatal(problems)
			}
		}
	})
	b.Run("compact", func(b *testing.B) {
		b.SetBytes(int64(len(raw)))
		b.ReportAllocs()
		var buf []byte
		for b.Loop() {
			buf, _, _ = r.AppendCompact(buf[:0])
		}
	})
}
