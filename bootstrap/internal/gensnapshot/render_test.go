package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rdapq/rdapq/bootstrap/internal/ianafile"
)

// write creates a directory with the five files. dns is the content of dns.json.
func write(t *testing.T, dns string) string {
	dir := t.TempDir()
	for name, body := range map[string]string{
		"dns":         dns,
		"ipv4":        `{"publication":"2026-01-01T00:00:00Z","services":[[["192.0.2.0/24"],["https://a.invalid/"]]]}`,
		"ipv6":        `{"publication":"2026-01-01T00:00:00Z","services":[[["2001:db8::/32"],["https://a.invalid/"]]]}`,
		"asn":         `{"publication":"2026-01-01T00:00:00Z","services":[[["64496-64511"],["https://a.invalid/"]]]}`,
		"object-tags": `{"publication":"2026-01-01T00:00:00Z","services":[[["x@a.invalid"],["A"],["https://a.invalid/"]]]}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name+".json"), []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestRun(t *testing.T) {
	dir := write(t, `{"publication":"2026-01-01T02:00:00+02:00","services":[
		[["zz"],["https://z.invalid/"]], [["yy"],["https://y.invalid/","http://y.invalid/"]], [["aa"],["https://z.invalid/"]]]}`)
	add := filepath.Join(dir, "add.json")
	if err := os.WriteFile(add, []byte(`{"services":[[["zz","bb"],["https://other.invalid/"]]]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "snapshot.json")
	if err := run(dir, add, out, time.Date(2026, 2, 3, 0, 0, 0, 0, time.UTC)); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(data), `{"generated":"2026-02-03"`) || strings.Contains(string(data), "x@a.invalid") {
		t.Errorf("date missing or contacts kept:\n%s", data)
	}
	got, err := ianafile.ReadMember(data, "dns", false)
	if err != nil {
		t.Fatal(err)
	}
	want := &ianafile.File{
		Published: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		Services: []ianafile.Service{
			{Keys: []string{"aa", "zz"}, URLs: []string{"https://z.invalid/"}},
			{Keys: []string{"bb"}, URLs: []string{"https://other.invalid/"}},
			{Keys: []string{"yy"}, URLs: []string{"https://y.invalid/", "http://y.invalid/"}},
		},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if tags, err := ianafile.ReadMember(data, "object-tags", true); err != nil || tags.Services[0].Keys[0] != "A" {
		t.Errorf("object-tags: %+v, %v", tags, err)
	}
}

func TestRunRefuses(t *testing.T) {
	out := filepath.Join(t.TempDir(), "snapshot.json")
	for _, dns := range []string{"", "<html>", `{"services":[[["zz"],["https://z.invalid/"]]]}`} {
		if err := run(write(t, dns), "", out, time.Now()); err == nil {
			t.Errorf("%q was accepted", dns)
		}
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("a refused run wrote a snapshot")
	}
}
