//go:build unix

package interop_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// products returns the servers of the table.
func products() []product {
	return []product{nginxProduct(), apacheProduct(), haproxyProduct(), trafficServerProduct(), tomcatProduct(), caddyProduct()}
}

// Reasons for missing features.
const (
	noQUIC     = "this build does not support QUIC"
	noGraceful = "no graceful restart; the rows below stop and start the server"
)

// signals returns a reload that sends a signal.
func signals(sig syscall.Signal) func(s *instance) {
	return func(s *instance) {
		if err := s.cmd.Process.Signal(sig); err != nil {
			s.t.Error(err)
		}
	}
}

func nginxProduct() product {
	return product{
		name: "nginx", program: "nginx", version: says("-v"),
		files: map[string]string{"server.conf": "nginx.conf"},
		command: func(s *instance) *exec.Cmd {
			return exec.Command(s.path, "-e", filepath.Join(s.dir, "error.log"), "-p", s.dir, "-c", filepath.Join(s.dir, "server.conf"))
		},
		logs:     readLog("access.log"),
		reload:   signals(syscall.SIGHUP),
		limits:   map[string]limit{http1: sevenRequests, http2: sevenRequests},
		fastOpen: true,
		lacks:    map[string]string{featureHTTP3: noQUIC},
	}
}

func apacheProduct() product {
	return product{
		name: "Apache httpd", program: "apache2", version: says("-v"),
		files: map[string]string{"server.conf": "apache.conf"},
		prepare: func(s *instance) {
			s.Extra["Modules"] = "/usr/lib/apache2/modules"
			s.writeFor("www/domain.json", []byte(`{"objectClassName":"domain","ldhName":"<!--#echo encoding="none" var="LDHNAME" -->"}`))
		},
		command: func(s *instance) *exec.Cmd {
			return exec.Command(s.path, "-D", "FOREGROUND", "-f", filepath.Join(s.dir, "server.conf"))
		},
		logs:   readLog("access.log"),
		reload: signals(syscall.SIGUSR1),
		limits: map[string]limit{http1: sevenRequests, http2: beingIdle},
		lacks:  map[string]string{featureHTTP3: noQUIC},
	}
}

func haproxyProduct() product {
	return product{
		name: "HAProxy", program: "haproxy", version: says("-v"),
		files: map[string]string{"server.conf": "haproxy.cfg"},
		prepare: func(s *instance) {
			var both []byte
			for _, file := range []string{"server.pem", "server.key"} {
				part, err := os.ReadFile(filepath.Join(s.dir, file))
				if err != nil {
					s.t.Fatal(err)
				}
				both = append(both, part...)
			}
			s.write("server.both.pem", both)
		},
		command: func(s *instance) *exec.Cmd {
			cmd := exec.Command(s.path, "-W", "-f", filepath.Join(s.dir, "server.conf"))
			cmd.Stdout = s.appendTo("access.log")
			return cmd
		},
		logs:     readLog("access.log"),
		reload:   signals(syscall.SIGUSR2),
		limits:   map[string]limit{http1: beingIdle, http2: beingIdle},
		fastOpen: true,
		lacks:    map[string]string{featureHTTP3: noQUIC},
	}
}

func caddyProduct() product {
	return product{
		name: "Caddy", program: "caddy", version: says("version"),
		files: map[string]string{"Caddyfile": "Caddyfile"},
		command: func(s *instance) *exec.Cmd {
			return s.caddy("run")
		},
		reload: func(s *instance) {
			if out, err := s.caddy("reload", "--address", "unix/"+s.dir+"/admin.sock").CombinedOutput(); err != nil {
				s.t.Errorf("caddy reload: %v: %s", err, out)
			}
		},
		logs: func(s *instance) (all []line) {
			text, err := os.ReadFile(filepath.Join(s.dir, "access.log"))
			if err != nil && !os.IsNotExist(err) {
				s.t.Fatal(err)
			}
			for row := range strings.Lines(string(text)) {
				var r struct {
					Request struct {
						Proto, URI string
						RemotePort string `json:"remote_port"`
					}
					Status json.Number
				}
				if json.Unmarshal([]byte(row), &r) == nil {
					all = append(all, line{r.Request.RemotePort, r.Request.Proto, r.Status.String(), r.Request.URI})
				}
			}
			return all
		},
		limits: map[string]limit{http1: beingIdle, http2: beingIdle},
		quic:   true,
	}
}

func (s *instance) caddy(arguments ...string) *exec.Cmd {
	cmd := exec.Command(s.path, append(arguments, "--config", filepath.Join(s.dir, "Caddyfile"), "--adapter", "caddyfile")...)
	cmd.Env = append(os.Environ(), "HOME="+s.dir, "XDG_DATA_HOME="+s.dir, "XDG_CONFIG_HOME="+s.dir)
	return cmd
}

// appendTo opens a file of the directory for a program to write to.
func (s *instance) appendTo(file string) *os.File {
	s.t.Helper()
	f, err := os.OpenFile(filepath.Join(s.dir, file), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { f.Close() })
	return f
}
