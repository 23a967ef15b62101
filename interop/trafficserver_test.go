//go:build unix

package interop_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// trafficServerProduct returns a proxy in front of a plain server.
func trafficServerProduct() product {
	return product{
		name: "Apache Traffic Server", program: "traffic_server", version: says("-V"),
		files: map[string]string{
			"runroot.yaml": "ats-runroot.yaml", "etc/records.config": "ats-records.config", "etc/remap.config": "ats-remap.config",
			"etc/logging.yaml": "ats-logging.yaml", "etc/ip_allow.yaml": "ats-ip_allow.yaml", "etc/ssl_multicert.config": "ats-ssl_multicert.config",
		},
		prepare: func(s *instance) {
			for _, dir := range []string{"log", "run"} {
				if err := os.MkdirAll(filepath.Join(s.dir, dir), 0o755); err != nil {
					s.t.Fatal(err)
				}
			}
			s.writeFor("etc/storage.config", nil) // disables the cache
			origin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/rdap+json")
				w.Header().Set("X-Worker", strconv.Itoa(s.Generation))
				fmt.Fprintf(w, `{"objectClassName":"domain","ldhName":%q}`, strings.TrimPrefix(r.URL.Path, "/domain/"))
			}))
			s.t.Cleanup(origin.Close)
			s.Extra["Origin"] = origin.URL
		},
		command: func(s *instance) *exec.Cmd {
			cmd := exec.Command(s.path, "--run-root="+filepath.Join(s.dir, "runroot.yaml"))
			cmd.Stdout = s.appendTo("error.log")
			return cmd
		},
		logs:     readLog("log/access.log"),
		limits:   map[string]limit{http1: beingIdle, http2: beingIdle},
		fastOpen: true,
		remark:   "when stopped, it runs for one more second (proxy.config.stop.shutdown_timeout) and closes every connection after one response. Each of these costs a resumed handshake",
		lacks: map[string]string{
			featureHTTP3:    noQUIC,
			graceful(http1): noGraceful,
			graceful(http2): noGraceful,
		},
	}
}
