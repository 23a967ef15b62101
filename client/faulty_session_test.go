package client_test

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/pool"
)

// A server that fails on resumed sessions makes no lookup fail, and later runs do not resume
// its sessions for a while. The test uses the clock of a bubble, because on a loaded machine
// responses of a working connection would come after the timeout.
func TestServerThatFailsOnResumedSessions(t *testing.T) {
	for name, protocols := range map[string]rdaptest.Protocols{"HTTP/1.1": rdaptest.H1Only, "HTTP/2": rdaptest.H2Only} {
		for fault, behaviours := range map[string][]rdaptest.Behaviour{
			"closes": {rdaptest.HangUp()},
			"resets": {rdaptest.ResetStream()},
			"503":    {rdaptest.Status(503)},
			"403":    {rdaptest.Status(403), rdaptest.Body("text/html", "<title>Forbidden</title>")},
			"cuts":   {rdaptest.Cut(10)},
			"silent": {rdaptest.Hang()},
		} {
			for _, count := range []int{1, 24} {
				bubble(t, fmt.Sprint(name, "/", fault, "/", count), func(t *testing.T) {
					network := new(rdaptest.Network)
					s := rdaptest.Start(t, rdaptest.Config{Network: network, Protocols: protocols})
					s.On("*", rdaptest.Resumed(behaviours...))
					dir := t.TempDir()
					for run := 1; run <= 3; run++ {
						before := s.Totals()
						runBatch(t, network, s, dir, run, count)
						after := s.Totals()
						requests, resumed := after.Requests-before.Requests, after.Resumed-before.Resumed
						t.Logf("run %d: %d requests, %d sessions resumed", run, requests, resumed)
						if requests > 3*int64(count) {
							t.Errorf("run %d: %d requests for %d names", run, requests, count)
						}
						if run == 2 && resumed == 0 {
							t.Error("the second run resumed no session, so this test shows nothing")
						}
						if run == 3 && resumed > 0 {
							t.Errorf("the third run resumed %d sessions", resumed)
						}
					}
				})
			}
		}
	}
}

// runBatch looks up count names of s in network, in a separate run with the state files
// in dir.
func runBatch(t *testing.T, network *rdaptest.Network, s *rdaptest.Server, dir string, run, count int) {
	t.Helper()
	sessions, err := pool.OpenSessionFile(filepath.Join(dir, "sessions"), 0, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	facts, err := pool.OpenOriginFile(filepath.Join(dir, "facts"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := pool.New(pool.Config{
		TLS: &tls.Config{RootCAs: s.CA().Pool()}, Trust: "test", AllowPrivate: true,
		Sessions: sessions, Origins: facts, Dial: network.Dial,
	})
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(client.Config{Transport: p, Resolver: urls{s.URL()}, Timeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for r := range c.Batch(t.Context(), lines(names(count)...)).All() {
		seen++
		if r.Verdict != client.VerdictRegistered {
			t.Errorf("run %d: %s after %d attempts: %v", run, describe(r), r.Attempts, client.ErrorOf(r))
		}
	}
	if seen != count {
		t.Errorf("run %d: %d rows, want %d", run, seen, count)
	}
	c.Close()
	p.Close()
	for _, f := range []interface{ Close() error }{sessions, facts} {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A single failure on a working connection with a resumed session does not disable
// resumption.
func TestIsolatedFailureOnResumedSession(t *testing.T) {
	for name, protocols := range map[string]rdaptest.Protocols{"HTTP/1.1": rdaptest.H1Only, "HTTP/2": rdaptest.H2Only} {
		bubble(t, name, func(t *testing.T) {
			network := new(rdaptest.Network)
			s := rdaptest.Start(t, rdaptest.Config{Network: network, Protocols: protocols})
			dir := t.TempDir()
			for run := 1; run <= 3; run++ {
				before := s.Totals()
				s.On("/domain/n7.example", rdaptest.First(1, rdaptest.Status(503)))
				runBatch(t, network, s, dir, run, 8)
				if resumed := s.Totals().Resumed - before.Resumed; run > 1 && resumed == 0 {
					t.Errorf("run %d resumed no session", run)
				}
			}
		})
	}
}
