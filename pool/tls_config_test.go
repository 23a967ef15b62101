package pool_test

import (
	"crypto/tls"
	"errors"
	"path/filepath"
	"testing"

	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/pool"
)

func TestTLSVersionLimits(t *testing.T) {
	for _, test := range []struct {
		name             string
		server           uint16
		min, max, wanted uint16 // TLS versions; wanted 0 means no connection
	}{
		{"newest", 0, 0, 0, tls.VersionTLS13},
		{"MaxVersion", 0, 0, tls.VersionTLS12, tls.VersionTLS12},
		{"MinVersion", tls.VersionTLS12, tls.VersionTLS13, 0, 0},
		{"default minimum", tls.VersionTLS11, 0, 0, 0},
		{"old by name", tls.VersionTLS11, tls.VersionTLS11, 0, tls.VersionTLS11},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := rdaptest.Start(t, rdaptest.Config{MinTLS: tls.VersionTLS11, MaxTLS: test.server})
			p, err := pool.New(pool.Config{TLS: &tls.Config{RootCAs: s.Pool(), MinVersion: test.min, MaxVersion: test.max}})
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			a, err := get(t.Context(), p, domain(s, 1))
			if test.wanted == 0 {
				if e, ok := errors.AsType[*pool.Error](err); !ok || e.Step != pool.StepHandshake {
					t.Errorf("got %v", err)
				}
				if err := s.AwaitOpen(t.Context(), 0); err != nil {
					t.Fatal(err)
				}
				if c := s.Counts(); c.Connections != 1 {
					t.Errorf("server saw %d connections, want 1", c.Connections)
				}
			} else if err != nil || a.trace.TLS != test.wanted {
				t.Errorf("%s, %v, want %s", tls.VersionName(a.trace.TLS), err, tls.VersionName(test.wanted))
			}
		})
	}
}

// A session of a version that is no longer allowed is not resumed.
func TestMinVersionHoldsForSessions(t *testing.T) {
	s := rdaptest.Start(t, rdaptest.Config{})
	saw := handshakes(t, s)
	file := filepath.Join(t.TempDir(), "sessions")
	old := pool.Config{TLS: &tls.Config{RootCAs: s.Pool(), MaxVersion: tls.VersionTLS12}, Trust: "x"}
	for _, r := range []struct {
		what          string
		c             pool.Config
		full, resumed int64
	}{
		{"TLS 1.2", old, 1, 0},
		{"TLS 1.2 again", old, 0, 1},
		{"TLS 1.3", pool.Config{TLS: &tls.Config{RootCAs: s.Pool(), MinVersion: tls.VersionTLS13}, Trust: "x"}, 1, 0},
	} {
		if err := run(t, s, file, r.c); err != nil {
			t.Fatal(err)
		}
		saw(r.what, r.full, r.resumed)
	}
}

// The caller's configuration is copied, and its session cache is not used.
func TestTLSConfigIsCloned(t *testing.T) {
	s := rdaptest.Start(t, rdaptest.Config{})
	c := &tls.Config{RootCAs: s.Pool(), ClientSessionCache: tls.NewLRUClientSessionCache(4)}
	p, err := pool.New(pool.Config{TLS: c})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	getAll(t, p, s, 2, 1)
	if c.ServerName != "" || c.NextProtos != nil || c.GetClientCertificate != nil {
		t.Errorf("changed: %+v", c)
	}
	if _, ok := c.ClientSessionCache.Get("127.0.0.1"); ok {
		t.Error("a session went into the cache of the caller's configuration")
	}
}
