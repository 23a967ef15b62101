//go:build unix

package interop_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// A logged request is a line of nginx's access log.
type logged struct {
	worker     int
	connection int64 // number of the connection, unique for this server
	requests   int   // number of requests on the connection, including this one
	protocol   string
	resumed    bool // the connection resumed a TLS session
	status     int
	path       string
}

// log stops the server, to flush its log, and reads it. It closes the pools first, because
// nginx waits a minute for the first request on a connection.
func (n *nginx) log() []logged {
	n.t.Helper()
	n.closePools()
	n.stop(syscall.SIGQUIT)
	text, err := os.ReadFile(filepath.Join(n.dir, "access.log"))
	if err != nil {
		n.t.Fatal(err)
	}
	var all []logged
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) != 7 {
			n.t.Fatalf("nginx logged %q", line)
		}
		number := func(s string) int {
			v, err := strconv.Atoi(s)
			if err != nil {
				n.t.Fatalf("nginx logged %q", line)
			}
			return v
		}
		all = append(all, logged{
			worker: number(f[0]), connection: int64(number(f[1])), requests: number(f[2]),
			protocol: f[3], resumed: f[4] == "r", status: number(f[5]), path: f[6],
		})
	}
	return all
}

// workers returns the processes in the log.
func (n *nginx) workers() map[string]bool {
	n.t.Helper()
	text, err := os.ReadFile(filepath.Join(n.dir, "access.log"))
	if err != nil {
		n.t.Fatal(err)
	}
	all := make(map[string]bool)
	for line := range strings.Lines(string(text)) {
		if worker, _, whole := strings.Cut(line, " "); whole {
			all[worker] = true
		}
	}
	return all
}

// lines returns the number of lines in the log.
func (n *nginx) lines() int {
	n.t.Helper()
	text, err := os.ReadFile(filepath.Join(n.dir, "access.log"))
	if err != nil {
		n.t.Fatal(err)
	}
	return strings.Count(string(text), "\n")
}

// usedConns returns the connections that carried requests, and whether each
// had resumed a session.
func usedConns(all []logged) map[int64]bool {
	conns := make(map[int64]bool)
	for _, l := range all {
		conns[l.connection] = l.resumed
	}
	return conns
}

// times returns the number of requests per path.
func times(all []logged) map[string]int {
	paths := make(map[string]int)
	for _, l := range all {
		paths[l.path]++
	}
	return paths
}
