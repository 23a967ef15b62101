package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rdapq/rdapq/bootstrap"
	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/journal"
	"github.com/rdapq/rdapq/pool"
	"github.com/rdapq/rdapq/rdapqtest"
)

var now = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

// newDatabase returns the path of a database with domains, and the responses of an earlier
// audit for some of them.
func newDatabase(t *testing.T, domains ...domain) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "portfolio.db")
	db := open(t, path)
	if _, err := db.ExecContext(t.Context(), "CREATE TABLE domains (name TEXT PRIMARY KEY, rdap BLOB, checked TEXT)"); err != nil {
		t.Fatal(err)
	}
	for _, d := range domains {
		add(t, db, d)
	}
	return path
}

func open(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite3", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func add(t *testing.T, db *sql.DB, d domain) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), "INSERT INTO domains (name, rdap) VALUES (?, ?)", d.name, d.rdap); err != nil {
		t.Fatal(err)
	}
}

// newAudit returns an audit of a database at a server.
func newAudit(t *testing.T, database string, s *rdapqtest.Server) (*audit, *bytes.Buffer) {
	t.Helper()
	out := new(bytes.Buffer)
	return &audit{
		database: database, journal: database + ".ndjson", days: 30, now: now, out: out, config: s.Config(),
	}, out
}

// TestAudit compares two audits.
func TestAudit(t *testing.T) {
	object := func(name, registrar, id string, expires time.Time, nameservers ...string) []byte {
		return rdapqtest.Domain{Name: name, Registrar: registrar, RegistrarID: id, Expires: expires, Nameservers: nameservers}.JSON()
	}
	soon, late := now.AddDate(0, 0, 10), now.AddDate(1, 0, 0)
	s := rdapqtest.NewServer(t, map[string][]byte{
		"domain/moved.example": object("moved.example", "New Names", "990002", soon, "ns1.new.example"),
		"domain/new.example":   object("new.example", "Names", "990001", late),
		"domain/same.example":  object("same.example", "Names", "990001", late),
		"domain/soon.example":  object("soon.example", "Names", "990001", soon),
	})
	database := newDatabase(t,
		domain{"moved.example", object("moved.example", "Old Names", "990001", soon, "ns1.old.example")},
		domain{"same.example", object("same.example", "Names", "990001", late)},
		domain{"soon.example", object("soon.example", "Names", "990001", soon)},
		domain{"gone.example", object("gone.example", "Names", "990001", late)},
		domain{"new.example", nil},
		domain{"busy.example", object("busy.example", "Names", "990001", late)},
	)
	s.SetFaults("domain/busy.example", rdapqtest.Status(403))
	a, out := newAudit(t, database, s)
	if err := a.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(out.String()) {
		if name, _, _ := strings.Cut(line, ": "); name == "busy.example" {
			line = "busy.example: rejected\n" // the rest is for people
		}
		got = append(got, strings.TrimSpace(line))
	}
	want := []string{
		"busy.example: rejected",
		"gone.example: not registered",
		"moved.example: active, 10 days left",
		"moved.example: nameservers: ns1.old.example -> ns1.new.example",
		"moved.example: registrar: Old Names, 990001 -> New Names, 990002",
		"soon.example: active, 10 days left",
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}

	// The next audit compares with this one.
	s.SetFaults("domain/busy.example")
	s.Set("domain/busy.example", object("busy.example", "Names", "990001", late))
	again, out := newAudit(t, database, s)
	if err := again.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := "gone.example: not registered\nmoved.example: active, 10 days left\nsoon.example: active, 10 days left\n"; out.String() != want {
		t.Errorf("second audit:\n%s\nwant\n%s", out, want)
	}
	if left, err := filepath.Glob(database + ".ndjson*"); err != nil || len(left) > 0 {
		t.Errorf("left behind: %q, %v", left, err)
	}
}

// TestCanceled cancels an audit while a lookup is in flight: its domain gets no row.
func TestCanceled(t *testing.T) {
	s := rdapqtest.NewServer(t, map[string][]byte{"domain/a.example": rdapqtest.Domain{Name: "a.example", Expires: now.AddDate(0, 0, 1)}.JSON()})
	database := newDatabase(t, domain{"a.example", nil})
	a, _ := newAudit(t, database, s)
	s.SetFaults("*", rdapqtest.Hang())
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.run(ctx) }()
	if err := s.AwaitRequests(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	s.SetFaults("*")
	a, out := newAudit(t, database, s)
	if err := a.run(t.Context()); err != nil || out.String() != "a.example: active, 1 days left\n" {
		t.Errorf("%q, %v", out, err)
	}
}

const (
	childURL      = "AUDIT_TEST_URL"
	childCA       = "AUDIT_TEST_CA"
	childDatabase = "AUDIT_TEST_DATABASE"
)

// TestMain runs an audit in place of the tests if this is the process that TestKill kills.
func TestMain(m *testing.M) {
	if os.Getenv(childURL) == "" {
		os.Exit(m.Run())
	}
	if err := child(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func child() error {
	resolver, err := bootstrap.New(bootstrap.Config{Server: os.Getenv(childURL)})
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(os.Getenv(childCA)))
	p, err := pool.New(pool.Config{TLS: &tls.Config{RootCAs: roots}})
	if err != nil {
		return err
	}
	database := os.Getenv(childDatabase)
	a := audit{
		database: database, journal: database + ".ndjson", now: now, out: os.Stdout,
		config: client.Config{Resolver: resolver, Transport: p},
	}
	return a.run(context.Background())
}

// TestKill kills an audit, and runs it again: no domain with a row is looked up twice,
// and the report and the database have all domains.
func TestKill(t *testing.T) {
	const n = 300
	var domains []domain
	s := rdapqtest.NewServer(t, nil)
	for i := range n {
		name := fmt.Sprintf("name%03d.example", i)
		s.Set("domain/"+name, rdapqtest.Domain{Name: name, Registrar: "Names", Expires: now.AddDate(0, 0, 7)}.JSON())
		domains = append(domains, domain{name: name})
	}
	database := newDatabase(t, domains...)
	release := make(chan struct{})
	s.SetFaults("domain/name250.example", rdapqtest.Hold(release)) // the audit cannot complete

	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), childURL+"="+s.URL(), childCA+"="+string(s.CertificatePEM()), childDatabase+"="+database)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		data, err := os.ReadFile(database + ".ndjson")
		if err == nil && bytes.Count(data, []byte("\n")) >= 200 {
			break
		}
		select {
		case err := <-ended:
			t.Fatalf("the audit ended: %v\n%s", err, output.String())
		case <-time.After(time.Millisecond):
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-ended
	close(release)
	data, err := os.ReadFile(database + ".ndjson")
	if err != nil {
		t.Fatal(err)
	}
	kept := bytes.Count(data, []byte("\n"))

	// Other domains are another audit.
	db := open(t, database)
	add(t, db, domain{name: "other.example"})
	a, _ := newAudit(t, database, s)
	if changed, ok := errors.AsType[*journal.ChangedError](a.run(t.Context())); !ok || changed.What != journal.ChangedInput {
		t.Errorf("with another domain: %v", changed)
	}
	if _, err := db.ExecContext(t.Context(), "DELETE FROM domains WHERE name = 'other.example'"); err != nil {
		t.Fatal(err)
	}

	before := len(s.Requests())
	a, out := newAudit(t, database, s)
	if err := a.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if again := len(s.Requests()) - before; again > n-kept {
		t.Errorf("%d domains had a row, and %d of %d were looked up again", kept, again, n)
	}
	if lines := strings.Count(out.String(), "active, 7 days left\n"); lines != n {
		t.Errorf("%d lines, want %d:\n%s", lines, n, out)
	}
	var stored int
	if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM domains WHERE rdap IS NOT NULL AND checked IS NOT NULL").Scan(&stored); err != nil || stored != n {
		t.Errorf("%d responses in the database, %v", stored, err)
	}
}
