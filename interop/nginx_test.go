//go:build unix

package interop_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"text/template"
)

// An nginx is a running nginx with a record for any domain.
type nginx struct {
	*server
	path   string
	config nginxConfig
}

// An nginxConfig holds the values of the template.
type nginxConfig struct {
	HTTP2      bool
	Directives string   // directives of the server
	TicketKeys []string // names of files in the directory; the first key encrypts
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

// startNginx starts a server that stops when the test ends.
func startNginx(t *testing.T, c nginxConfig) *nginx {
	t.Helper()
	n := &nginx{path: need(t, "nginx"), server: newServer(t), config: c}
	for _, key := range c.TicketKeys {
		n.newTicketKey(key)
	}
	n.config.Dir, n.config.Port = n.dir, freePorts(t, 1)[0]
	n.base = fmt.Sprintf("https://127.0.0.1:%d/", n.config.Port)
	n.writeConfig()
	n.start()
	t.Cleanup(func() {
		n.stop(syscall.SIGTERM)
		if t.Failed() {
			t.Logf("nginx's error log ends with:\n%s", n.tail("error.log"))
		}
	})
	return n
}

// newTicketKey writes a new session ticket key to a file.
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

// start starts the server and waits until it responds.
func (n *nginx) start() {
	n.t.Helper()
	cmd := exec.Command(n.path, "-e", filepath.Join(n.dir, "error.log"), "-p", n.dir, "-c", filepath.Join(n.dir, "nginx.conf"))
	n.run(cmd, func() bool {
		_, err := n.status()
		return err == nil
	})
}

// reload makes the server reread its configuration. Old workers finish their requests.
func (n *nginx) reload() {
	n.t.Helper()
	if err := n.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		n.t.Error(err)
	}
}

// status returns the number of accepted connections, without the connections of status
// requests.
func (n *nginx) status() (accepted int64, err error) {
	tr := &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(n.dir, "status.sock"))
		},
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

// accepts is like status, but for a running server.
func (n *nginx) accepts() int64 {
	n.t.Helper()
	accepted, err := n.status()
	if err != nil {
		n.t.Fatal(err)
	}
	return accepted
}
