//go:build unix

package interop_test

import (
	"crypto/tls"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/rdapq/rdapq/pool"
)

// TestTicketKeys rotates session ticket keys, as servers do every few hours. A ticket with a
// known key resumes its session. A ticket with a dropped key costs a full handshake, but no
// lookup fails.
func TestTicketKeys(t *testing.T) {
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		t.Run(tls.VersionName(version), func(t *testing.T) {
			n := startNginx(t, nginxConfig{HTTP2: true, TicketKeys: []string{"first.key"}})
			p := n.newPool(pool.Config{TLS: &tls.Config{MaxVersion: version}})
			var want []bool
			visit := func(resumed bool) {
				t.Helper()
				p.CloseIdleConnections()
				a, err := lookup(t.Context(), p, n.base, name(int64(len(want))))
				if err != nil {
					t.Fatal(err)
				}
				if a.trace.TLS != version || a.trace.Reused || a.trace.Resumed != resumed {
					t.Errorf("visit %d: %+v, want it resumed: %t", len(want), a.trace, resumed)
				}
				want = append(want, resumed)
			}
			replace := func(keys ...string) {
				t.Helper()
				worker := n.worker(p)
				n.config.TicketKeys = keys
				n.writeConfig()
				n.reload()
				n.until("the old process has ended", func() bool { return gone(worker) })
			}

			visit(false)
			visit(true)
			n.newTicketKey("second.key")
			replace("second.key", "first.key") // first.key still decrypts
			visit(true)
			visit(true)
			replace("second.key") // by now, tickets are encrypted with second.key
			visit(true)
			n.newTicketKey("third.key")
			replace("third.key")
			visit(false)
			visit(true)

			s := p.Stats()
			all := n.log()
			paths := make(map[string]bool)
			for _, l := range all {
				paths[l.path] = l.resumed
			}
			for i, resumed := range want {
				if got := paths["/domain/"+name(int64(i))]; got != resumed {
					t.Errorf("visit %d: server: resumed %t, want %t", i, got, resumed)
				}
			}
			if s.RetriesTotal() != 0 || s.Failed != 0 {
				t.Errorf("%+v", s)
			}
		})
	}
}

// worker returns the current process.
func (n *nginx) worker(p *pool.Pool) int {
	n.t.Helper()
	a, err := lookup(n.t.Context(), p, n.base, "worker.example")
	if err != nil {
		n.t.Fatal(err)
	}
	return a.worker
}

// TestSessionFile checks that a second run resumes the sessions that the first run saved in a
// file.
func TestSessionFile(t *testing.T) {
	n := startNginx(t, nginxConfig{HTTP2: true, TicketKeys: []string{"first.key"}})
	file := filepath.Join(t.TempDir(), "sessions")
	run := func(domain string) bool {
		t.Helper()
		sessions, err := pool.OpenSessionFile(file, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		p := n.newPool(pool.Config{Sessions: sessions, Trust: "interop"})
		a, err := lookup(t.Context(), p, n.base, domain)
		if err != nil {
			t.Fatal(err)
		}
		p.Close()
		if err := sessions.Close(); err != nil {
			t.Fatal(err)
		}
		return a.trace.Resumed
	}
	got := [3]bool{run(name(0)), run(name(1))}
	n.newTicketKey("first.key")
	n.stop(syscall.SIGTERM)
	n.start()
	got[2] = run(name(2))
	if want := [3]bool{false, true, false}; got != want {
		t.Errorf("resumed %v, want %v", got, want)
	}
}
