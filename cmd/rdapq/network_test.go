package main

import (
	"crypto/tls"
	"io"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/pool"
)

// Without flags the command uses the same protocols, timeouts, connection limits and
// proxy as a zero client.Config.
func TestCommandDefaultsMatchLibrary(t *testing.T) {
	t.Setenv("HTTPS_PROXY", "http://proxy.example:3128")
	a := &app{stderr: io.Discard}
	newCommand(a)
	command, err := a.opts.connections(client.Config{Timeout: a.opts.timeout})
	if err != nil {
		t.Fatal(err)
	}
	library := client.Config{}.PoolConfig()
	versions := [2]uint16{command.TLS.MinVersion, command.TLS.MaxVersion}
	if want := [2]uint16{tls.VersionTLS12, tls.VersionTLS13}; versions != want || library.TLS != nil || command.TLS.InsecureSkipVerify {
		t.Errorf("TLS %x, want what Go has by default, %x", versions, want)
	}
	req := httptest.NewRequest("GET", "https://rdap.example/", nil)
	for who, c := range map[string]pool.Config{"command": command, "library": library} {
		if u, err := c.Proxy(req); err != nil || u == nil || u.Host != "proxy.example:3128" {
			t.Errorf("%s: proxy %v, %v", who, u, err)
		}
	}
	ignore := cmpopts.IgnoreFields(pool.Config{}, "TLS", "Proxy", "Logger", "ClientCertificate")
	if d := cmp.Diff(library, command, ignore, cmpopts.IgnoreFields(pool.Config{}, "LocalAddr"), cmpopts.EquateEmpty()); d != "" {
		t.Errorf("library - command +:\n%s", d)
	}
	if a.opts.timeout != client.DefaultTimeout || a.opts.batch.attempts != client.DefaultAttempts || a.opts.conns != 0 {
		t.Errorf("timeout %v, attempts %d, connections %d", a.opts.timeout, a.opts.batch.attempts, a.opts.conns)
	}
}
