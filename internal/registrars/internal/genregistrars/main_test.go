package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rdapq/rdapq/internal/registrars"
)

func TestTable(t *testing.T) {
	dir := t.TempDir()
	from, out := filepath.Join(dir, "list.csv"), filepath.Join(dir, "registrars.tsv")
	list := "ID,Registrar Name,Status,RDAP Base URL\n990010,Ten,Accredited,https://rdap.ten.example/\n99,Old,Terminated,\n9,\"Nine, Inc.\",Accredited,https://rdap.nine.example/v1/\n"
	if err := os.WriteFile(from, []byte(list), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(from, out, time.Date(2026, 3, 14, 0, 0, 0, 0, time.UTC)); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	_, entries, _ := strings.Cut(string(got), "on 2026-03-14; do not edit.\n")
	if want := "9\thttps://rdap.nine.example/v1/\n990010\thttps://rdap.ten.example/\n"; entries != want {
		t.Errorf("%q, want %q", got, want)
	}
	// The package reads the written file unchanged.
	urls, err := registrars.Parse(strings.NewReader(string(got)))
	if err != nil || len(urls) != 2 {
		t.Errorf("%v, error %v", urls, err)
	}
}

func TestNothingWritten(t *testing.T) {
	dir := t.TempDir()
	from, out := filepath.Join(dir, "list.csv"), filepath.Join(dir, "registrars.tsv")
	if err := os.WriteFile(from, []byte("<html>busy</html>"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(from, out, time.Now()); err == nil {
		t.Error("no error for a list without entries")
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("a table was written all the same")
	}
}
