package main

import (
	"crypto/tls"
	"errors"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/openrdap/rdap"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/rdapqtest"
)

// TestPort compares both versions of the program.
func TestPort(t *testing.T) {
	s := rdapqtest.NewServer(t, map[string][]byte{
		"domain/a.example": rdapqtest.Domain{
			Name: "a.example", Registrar: "Invented Names", RegistrarID: "990001", Expires: time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC),
			Nameservers: []string{"NS1.a.example", "ns2.a.example"},
		}.JSON(),
		"domain/b.example": rdapqtest.Domain{Name: "b.example"}.JSON(),
	})
	c, err := client.New(s.Config())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })

	server, err := url.Parse(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: s.Certificates()}}
	t.Cleanup(transport.CloseIdleConnections)
	before := &rdap.Client{HTTP: &http.Client{Transport: transport}}

	const want = "a.example\n  registrar  Invented Names\n  nameserver ns1.a.example\n  nameserver ns2.a.example\n  expires    2027-01-02T03:04:05Z\n"
	for name, want := range map[string]string{"a.example": want, "b.example": "b.example\n"} {
		d, err := lookup(t.Context(), c, name)
		if err != nil {
			t.Fatal(err)
		}
		old, err := lookupBefore(t.Context(), before, server, name)
		if err != nil {
			t.Fatal(err)
		}
		if got := describe(d); got != want || got != describe(old) {
			t.Errorf("%s:\n%s\nbefore:\n%s\nwant:\n%s", name, got, describe(old), want)
		}
	}
	_, err = lookup(t.Context(), c, "free.example")
	_, old := lookupBefore(t.Context(), before, server, "free.example")
	if !errors.Is(err, errNotFound) || !errors.Is(old, errNotFound) {
		t.Errorf("%v, before: %v", err, old)
	}
	if _, err := lookup(t.Context(), c, "not a name"); !errors.Is(err, client.CodeInvalid) {
		t.Error(err)
	}

	// An error is not lost: openrdap's has no cause and no status.
	s.SetFaults("*", rdapqtest.Status(403))
	_, err = lookup(t.Context(), c, "c.example")
	e, ok := errors.AsType[*client.Error](err)
	if !ok || e.Code != client.CodeForbidden || e.Status != http.StatusForbidden {
		t.Errorf("%v", err)
	}
}
