// Package interop_test asks servers that others wrote, as they come with
// Debian, and does to them what their operators do: limits, reloads, restarts,
// new ticket keys. No lookup may be lost, and what the servers counted must be
// what we say.
//
// The tests run if RDAPQ_INTEROP is set to 1, and skip where a server is not
// installed. Every server has a configuration of its own in a temporary
// directory, listens on loopback, and ends with its test.
package interop_test

import (
	"bytes"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"text/template"
	"time"

	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/pool"
)

// patience bounds what a server takes to do as it is told.
const patience = 30 * time.Second

// need skips a test that can't run here.
func need(t *testing.T, program string) string {
	t.Helper()
	if os.Getenv("RDAPQ_INTEROP") != "1" {
		t.Skip("RDAPQ_INTEROP=1 runs it")
	}
	path, err := exec.LookPath(program)
	if err != nil {
		t.Skipf("%s is not installed", program)
	}
	return path
}

// An nginx is a server of ours. It answers for any domain at base.
type nginx struct {
	t      *testing.T
	path   string
	dir    string
	config nginxConfig
	ca     *rdaptest.CA
	base   string // URL, with a slash at the end
	pools  []*pool.Pool

	cmd  *exec.Cmd
	done chan struct{}
}

// An nginxConfig fills in the template.
type nginxConfig struct {
	HTTP2      bool
	Directives string   // of the server
	TicketKeys []string // files in its directory, the first encrypts
	Port       int
	Dir        string
}

var nginxTemplate = template.Must(template.New("").Parse(`
daemon off;
worker_processes 1;
pid {{.Dir}}/nginx.pid;
error_log {{.Dir}}/error.log info;
events { worker_connections 1024; }
http {
    log_format interop '$pid $connection $connection_requests $server_protocol $ssl_session_reused $status $uri';
    access_log {{.Dir}}/access.log interop;
    client_body_temp_path {{.Dir}}/body;
    proxy_temp_path {{.Dir}}/proxy;
    fastcgi_temp_path {{.Dir}}/fastcgi;
    uwsgi_temp_path {{.Dir}}/uwsgi;
    scgi_temp_path {{.Dir}}/scgi;
    ssl_certificate {{.Dir}}/server.pem;
    ssl_certificate_key {{.Dir}}/server.key;
    ssl_protocols TLSv1.2 TLSv1.3;
    ssl_session_cache off;
    {{range .TicketKeys}}ssl_session_ticket_key {{$.Dir}}/{{.}};
    {{end}}
    default_type application/rdap+json;
    server {
        listen 127.0.0.1:{{.Port}} ssl{{if .HTTP2}} http2{{end}};
        {{.Directives}}
        location ~ "^/domain/(?<name>.+)$" {
            add_header X-Worker $pid;
            return 200 '{"objectClassName":"domain","ldhName":"$name"}';
        }
    }
    server {
        listen unix:{{.Dir}}/status.sock;
        access_log off;
        location / { stub_status; }
    }
}
`))

// startNginx starts a server that ends with the test.
func startNginx(t *testing.T, c nginxConfig) *nginx {
	t.Helper()
	n := &nginx{t: t, path: need(t, "nginx"), dir: t.TempDir(), config: c}
	n.config.Dir = n.dir
	var err error
	if n.ca, err = rdaptest.NewCA(); err != nil {
		t.Fatal(err)
	}
	n.writeCertificate()
	for _, key := range c.TicketKeys {
		n.newTicketKey(key)
	}
	n.config.Port = freePort(t)
	n.base = fmt.Sprintf("https://127.0.0.1:%d/", n.config.Port)
	n.writeConfig()
	n.start()
	t.Cleanup(func() {
		n.stop(syscall.SIGTERM)
		if t.Failed() {
			log, _ := os.ReadFile(filepath.Join(n.dir, "error.log"))
			t.Logf("nginx's error log ends with:\n%s", log[max(0, len(log)-4000):])
		}
	})
	return n
}

// freePort returns a port that nobody listens on just now.
func freePort(t *testing.T) int {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().(*net.TCPAddr).Port
}

func (n *nginx) write(file string, content []byte) {
	n.t.Helper()
	if err := os.WriteFile(filepath.Join(n.dir, file), content, 0o600); err != nil {
		n.t.Fatal(err)
	}
}

func (n *nginx) writeCertificate() {
	n.t.Helper()
	cert, err := n.ca.Certificate("127.0.0.1")
	if err != nil {
		n.t.Fatal(err)
	}
	var chain bytes.Buffer
	for _, der := range cert.Certificate {
		if err := pem.Encode(&chain, &pem.Block{Type: "CERTIFICATE", Bytes: der}); err != nil {
			n.t.Fatal(err)
		}
	}
	key, err := x509.MarshalPKCS8PrivateKey(cert.PrivateKey)
	if err != nil {
		n.t.Fatal(err)
	}
	n.write("server.pem", chain.Bytes())
	n.write("server.key", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}))
	n.write("ca.pem", n.ca.PEM())
}

// newTicketKey puts a new key for session tickets into a file.
func (n *nginx) newTicketKey(file string) {
	n.t.Helper()
	key := make([]byte, 80)
	if _, err := rand.Read(key); err != nil {
		n.t.Fatal(err)
	}
	n.write(file, key)
}

func (n *nginx) writeConfig() {
	n.t.Helper()
	var text bytes.Buffer
	if err := nginxTemplate.Execute(&text, n.config); err != nil {
		n.t.Fatal(err)
	}
	n.write("nginx.conf", text.Bytes())
}

// start starts the server and waits until it answers.
func (n *nginx) start() {
	n.t.Helper()
	n.cmd = exec.Command(n.path, "-e", filepath.Join(n.dir, "error.log"), "-p", n.dir, "-c", filepath.Join(n.dir, "nginx.conf"))
	var said bytes.Buffer
	n.cmd.Stderr = &said
	if err := n.cmd.Start(); err != nil {
		n.t.Fatal(err)
	}
	done := make(chan struct{})
	n.done = done
	go func() {
		_ = n.cmd.Wait() // by a signal, or said tells why
		close(done)
	}()
	n.until("it answers", func() bool {
		select {
		case <-done:
			n.t.Fatalf("nginx ended: %s", said.String())
		default:
		}
		_, err := n.status()
		return err == nil
	})
}

// stop ends the server.
func (n *nginx) stop(s syscall.Signal) {
	n.t.Helper()
	// Fails if it has ended.
	_ = n.cmd.Process.Signal(s)
	select {
	case <-n.done:
	case <-time.After(patience):
		_ = n.cmd.Process.Kill()
		n.t.Error("nginx did not end")
	}
}

// reload makes the server read its configuration again. Workers of before
// finish what they have begun.
func (n *nginx) reload() {
	n.t.Helper()
	if err := n.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		n.t.Error(err)
	}
}

// until waits for what a server does by itself.
func (n *nginx) until(what string, reached func() bool) {
	n.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if reached() {
			return
		}
	}
	n.t.Fatalf("waited %v until %s", patience, what)
}

// status asks for the number of connections that were accepted, without those
// that asked for it.
func (n *nginx) status() (accepted int64, err error) {
	tr := &http.Transport{
		DisableKeepAlives: true,
		Dial:              func(string, string) (net.Conn, error) { return net.Dial("unix", filepath.Join(n.dir, "status.sock")) },
	}
	resp, err := (&http.Client{Transport: tr}).Get("http://status/")
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err
	}
	// Active connections: 1
	// server accepts handled requests
	//  7 7 9
	f := strings.Fields(string(body))
	for i, word := range f {
		if word == "requests" && len(f) > i+1 {
			return strconv.ParseInt(f[i+1], 10, 64)
		}
	}
	return 0, fmt.Errorf("status says %q", body)
}

// accepts is status for a server that runs.
func (n *nginx) accepts() int64 {
	n.t.Helper()
	accepted, err := n.status()
	if err != nil {
		n.t.Fatal(err)
	}
	return accepted
}

// gone reports whether a process has ended.
func gone(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }
