package render

import (
	"os"
	"testing"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/rdap"
)

// BenchmarkAnswer validates a response and formats its row, as a batch does.
func BenchmarkAnswer(b *testing.B) {
	registrar, err := os.ReadFile("../../rdap/testdata/registrar-redacted.json")
	if err != nil {
		b.Fatal(err)
	}
	spaced := string(registrar)
	tight, _, err := rdap.Compact(nil, registrar)
	if err != nil {
		b.Fatal(err)
	}
	for _, bb := range []struct {
		name   string
		source rdaptest.Source
		body   string
	}{
		{"registry", rdaptest.Invented{Shape: rdaptest.Thin}, ""},
		{"cctld", rdaptest.Invented{Shape: rdaptest.Thick}, ""},
		{"registrar", nil, string(tight)},
		{"indented", nil, spaced},
	} {
		b.Run(bb.name, func(b *testing.B) {
			s := rdaptest.Start(b, rdaptest.Config{Source: bb.source})
			if bb.body != "" {
				s.On("*", rdaptest.Body("application/rdap+json", bb.body))
			}
			r := lookup(b, s, "dom1.example")
			b.SetBytes(int64(len(r.Raw)))
			b.ReportAllocs()
			var buf []byte
			for b.Loop() {
				if _, err := rdap.Classify(r.Raw); err != nil {
					b.Fatal(err)
				}
				buf = AppendRow(buf[:0], r)
			}
		})
	}
}

// lookup looks up a domain at s.
func lookup(t testing.TB, s *rdaptest.Server, name string) *client.Result {
	t.Helper()
	c, err := client.New(client.Config{Transport: s.Client().Transport})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	q, err := client.Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	q.Server = s.URL()
	r, err := c.Lookup(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
