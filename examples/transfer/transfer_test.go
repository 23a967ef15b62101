package main

import (
	"errors"
	"testing"
	"time"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/rdap"
	"github.com/rdapq/rdapq/rdapqtest"
)

var now = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

// TestTransfer looks up domains in all states.
func TestTransfer(t *testing.T) {
	old := now.AddDate(-3, 0, 0)
	s := rdapqtest.NewServer(t, nil)
	set := func(d rdapqtest.Domain) {
		d.Registrar = "Old Names"
		s.Set("domain/"+d.Name, d.JSON())
	}
	set(rdapqtest.Domain{Name: "free.example", Registered: old, Expires: now.AddDate(1, 0, 0), Status: []string{"active"}})
	set(rdapqtest.Domain{Name: "locked.example", Registered: old, Status: []string{"client transfer prohibited", "server delete prohibited"}})
	set(rdapqtest.Domain{Name: "epp.example", Registered: old, Status: []string{"serverTransferProhibited"}})
	set(rdapqtest.Domain{Name: "deleted.example", Registered: old, Status: []string{"redemption period", "pending delete"}})
	set(rdapqtest.Domain{Name: "young.example", Registered: now.AddDate(0, 0, -10)})
	s.SetFaults("domain/broken.example", rdapqtest.MalformedJSON())

	config := s.Config()
	config.Attempts = 1
	c, err := client.New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	for name, want := range map[string]string{
		"free.example":    "can be transferred from Old Names",
		"locked.example":  "cannot be transferred from Old Names: clientTransferProhibited",
		"epp.example":     "cannot be transferred from Old Names: serverTransferProhibited",
		"deleted.example": "cannot be transferred from Old Names: redemption",
		"young.example":   "cannot be transferred from Old Names: registration on 2026-11-21 (until 2027-01-20)",
	} {
		r := lookup(t, c, name)
		v, err := judge(r, now)
		if err != nil || v.String() != want {
			t.Errorf("%s: %v, %v", name, v, err)
		}
	}
	if _, err := judge(lookup(t, c, "other.example"), now); !errors.Is(err, errNotRegistered) {
		t.Errorf("without an object: %v", err)
	}
	if _, err := judge(lookup(t, c, "broken.example"), now); !errors.Is(err, client.CodeNotRDAP) {
		t.Errorf("malformed response: %v", err)
	}
}

func lookup(t *testing.T, c *client.Client, name string) *client.Result {
	t.Helper()
	q, err := client.ParseAs(client.TypeDomain, name)
	if err != nil {
		t.Fatal(err)
	}
	r, _ := c.Lookup(t.Context(), q) // its error is r.Err()
	return r
}

// TestTransferred has a transfer that is more recent than the registration.
func TestTransferred(t *testing.T) {
	record, err := rdap.Read([]byte(`{"objectClassName":"domain","ldhName":"a.example","events":[
		{"eventAction":"registration","eventDate":"2020-01-01T00:00:00Z"},
		{"eventAction":"transfer","eventDate":"2026-11-30T00:00:00Z"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	v := judgeRecord(record, now)
	if want := "cannot be transferred: transfer on 2026-11-30 (until 2027-01-29)"; v.String() != want {
		t.Errorf("%s, want %s", v, want)
	}
	if v := judgeRecord(record, now.AddDate(0, 3, 0)); !v.possible() {
		t.Errorf("three months later: %s", v)
	}
}

// TestExitCode runs the program.
func TestExitCode(t *testing.T) {
	s := rdapqtest.NewServer(t, map[string][]byte{
		"domain/free.example":   rdapqtest.Domain{Name: "free.example"}.JSON(),
		"domain/locked.example": rdapqtest.Domain{Name: "locked.example", Status: []string{"server transfer prohibited"}}.JSON(),
	})
	for _, test := range []struct {
		names []string
		want  int
	}{
		{[]string{"free.example"}, 0},
		{[]string{"free.example", "locked.example"}, 1},
		{[]string{"locked.example", "other.example"}, 2},
	} {
		if code := run(t.Context(), s.Config(), test.names); code != test.want {
			t.Errorf("%q: exit code %d, want %d", test.names, code, test.want)
		}
	}
}
