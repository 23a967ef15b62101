//go:build unix

package interop_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rdapq/rdapq/pool"
)

// A caddy is a server with HTTP/3 that has a record for any domain. It creates new
// session ticket keys when it starts.
type caddy struct {
	*server
	path string
}

// caddyfile is a format for the directory and the port.
const caddyfile = `{
	admin off
	auto_https off
	storage file_system %[1]s/storage
	log {
		output file %[1]s/caddy.log
	}
}
https://localhost:%[2]d {
	bind 127.0.0.1
	tls %[1]s/server.pem %[1]s/server.key
	log {
		output file %[1]s/access.log
		format json
	}
	@domain path_regexp domain ^/domain/(.+)$
	header @domain Content-Type application/rdap+json
	respond @domain ` + "`" + `{"objectClassName":"domain","ldhName":"{re.domain.1}"}` + "`" + ` 200
}
`

// startCaddy starts a server that stops when the test ends.
func startCaddy(t *testing.T) *caddy {
	t.Helper()
	c := &caddy{path: need(t, "caddy"), server: newServer(t)}
	port := freePorts(t, 1)[0]
	// Use the name, because over QUIC the server has no certificate for an address.
	c.base = fmt.Sprintf("https://localhost:%d/", port)
	c.write("Caddyfile", fmt.Appendf(nil, caddyfile, c.dir, port))
	c.start()
	t.Cleanup(func() {
		c.stop(syscall.SIGTERM)
		if t.Failed() {
			t.Logf("caddy's log ends with:\n%s", c.tail("caddy.log"))
		}
	})
	return c
}

// start starts the server and waits until it responds over TCP. By then, it also listens for
// QUIC.
func (c *caddy) start() {
	c.t.Helper()
	cmd := exec.Command(c.path, "run", "--config", filepath.Join(c.dir, "Caddyfile"), "--adapter", "caddyfile")
	cmd.Env = append(os.Environ(), "HOME="+c.dir, "XDG_DATA_HOME="+c.dir, "XDG_CONFIG_HOME="+c.dir)
	probe := c.newPool(pool.Config{Protocols: []string{http1}, NoReuse: true})
	c.run(cmd, func() bool {
		_, err := lookup(c.t.Context(), probe, c.base, "ready.example")
		return err == nil
	})
}

// A caddyRequest is a line of Caddy's access log.
type caddyRequest struct {
	Request struct {
		Proto, URI string
	}
	Status int
}

// log stops the server and reads its log of HTTP/3 requests.
func (c *caddy) log() map[string][]caddyRequest {
	c.t.Helper()
	c.closePools()
	c.stop(syscall.SIGTERM)
	text, err := os.ReadFile(filepath.Join(c.dir, "access.log"))
	if err != nil {
		c.t.Fatal(err)
	}
	paths := make(map[string][]caddyRequest)
	for line := range strings.Lines(string(text)) {
		var r caddyRequest
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			c.t.Fatalf("caddy logged %q: %v", line, err)
		}
		if r.Request.Proto == "HTTP/3.0" {
			paths[r.Request.URI] = append(paths[r.Request.URI], r)
		}
	}
	return paths
}

func TestHTTP3(t *testing.T) {
	c := startCaddy(t)
	p := c.newPool(pool.Config{Protocols: []string{http3}})
	const names, atOnce = 300, 32
	ask(t, p, c.base, names, atOnce)
	s := p.Stats()
	if s.Requests != names || s.Failed != 0 || s.RetriesTotal() != 0 || s.Connections != 1 || s.Handshakes.Full != 1 {
		t.Errorf("%+v", s)
	}
	paths := c.log()
	for i := range int64(names) {
		if got := paths["/domain/"+name(i)]; len(got) != 1 || got[0].Status != http.StatusOK {
			t.Errorf("%s: the server logged %+v", name(i), got)
		}
	}
}

// TestAltSvc checks that a response over TCP advertises HTTP/3.
func TestAltSvc(t *testing.T) {
	c := startCaddy(t)
	p := c.newPool(pool.Config{Protocols: []string{http3, http2, http1}, HeadStart: patience})
	var got []string
	for i := range int64(2) {
		a, err := lookup(t.Context(), p, c.base, name(i))
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, a.trace.Protocol)
		p.CloseIdleConnections()
	}
	if got[0] != http2 || got[1] != http3 {
		t.Errorf("protocols %q", got)
	}
	if paths := c.log(); len(paths["/domain/"+name(1)]) != 1 {
		t.Errorf("the server logged %+v", paths)
	}
}

// TestEarlyData checks that the first request of a second visit is sent as 0-RTT data. After a
// restart the server rejects the data, and no lookup fails.
func TestEarlyData(t *testing.T) {
	c := startCaddy(t)
	p := c.newPool(pool.Config{Protocols: []string{http3}})
	asked := int64(0)
	visit := func() pool.Trace {
		t.Helper()
		a, err := lookup(t.Context(), p, c.base, name(asked))
		if err != nil {
			t.Fatal(err)
		}
		if a.trace.Protocol != http3 {
			t.Errorf("visit %d: %+v", asked, a.trace)
		}
		// The session ticket may arrive after the first response, but not after the next
		// response.
		if _, err := lookup(t.Context(), p, c.base, name(1000+asked)); err != nil {
			t.Fatal(err)
		}
		p.CloseIdleConnections()
		asked++
		return a.trace
	}
	// On loopback the handshake can end before the request is ready, so that the request is not
	// sent early. Therefore the test makes several visits.
	early := func() {
		t.Helper()
		for range 20 {
			switch tr := visit(); {
			case !tr.Resumed:
				t.Fatalf("visit %d: %+v, want a resumed session", asked-1, tr)
			case tr.EarlyData:
				return
			}
		}
		t.Error("no visit of 20 sent early data")
	}
	full := func() {
		t.Helper()
		if tr := visit(); tr.Resumed || tr.EarlyData {
			t.Errorf("visit %d: %+v, want a full handshake", asked-1, tr)
		}
	}
	full()
	early()
	c.stop(syscall.SIGTERM)
	c.start()
	full()
	early()
	paths := c.log()
	for i := range asked {
		// For early data the log may report no resumed session, because the handshake has not
		// ended when the request is handled.
		if got := paths["/domain/"+name(i)]; len(got) != 1 || got[0].Status != http.StatusOK {
			t.Errorf("visit %d: the server logged %+v", i, got)
		}
	}
}

// TestHTTP3Restart restarts the server while a connection is open. The next lookup detects the
// restart and succeeds.
func TestHTTP3Restart(t *testing.T) {
	c := startCaddy(t)
	p := c.newPool(pool.Config{Protocols: []string{http3}})
	ask(t, p, c.base, 20, 4)
	c.stop(syscall.SIGKILL) // the server sends no CONNECTION_CLOSE
	c.start()
	ask(t, p, c.base, 20, 4)
	s := p.Stats()
	if s.Requests != 40 || s.Failed != 0 {
		t.Errorf("%+v", s)
	}
	t.Logf("%d connections, retries %v", s.Connections, s.Retries)
}
