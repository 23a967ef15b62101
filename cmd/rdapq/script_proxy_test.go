package main

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/rogpeppe/go-internal/testscript"
)

// A proxy tunnels only to known hosts.
type proxy struct {
	to      map[string]string // actual address by requested host and port
	tunnels atomic.Int64
}

// cmdProxy starts an HTTP proxy for all servers started so far. $NAME is the proxy's URL.
func cmdProxy(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: proxy NAME")
	}
	w := worldOf(ts)
	p := &proxy{to: make(map[string]string)}
	for _, s := range w.servers {
		_, port, err := net.SplitHostPort(s.Addr())
		ts.Check(err)
		p.to["rdap.alpha.example:"+port] = s.Addr()
	}
	server := httptest.NewServer(p)
	w.closers = append(w.closers, server.Close)
	w.proxies[args[0]] = p
	ts.Setenv(args[0], server.URL)
}

// cmdProxied checks the number of tunnels opened.
func cmdProxied(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 || worldOf(ts).proxies[args[0]] == nil {
		ts.Fatalf("usage: proxied NAME N")
	}
	if n := worldOf(ts).proxies[args[0]].tunnels.Load(); strconv.FormatInt(n, 10) != args[1] {
		ts.Fatalf("%d tunnels, want %s", n, args[1])
	}
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	addr, known := p.to[strings.ToLower(r.Host)]
	if r.Method != http.MethodConnect || !known {
		http.Error(w, "not there", http.StatusForbidden)
		return
	}
	far, err := net.Dial("tcp", addr)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer far.Close()
	near, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer near.Close()
	p.tunnels.Add(1)
	_, _ = io.WriteString(near, "HTTP/1.1 200 OK\r\n\r\n") // a failure ends the copies
	go func() {
		_, _ = io.Copy(far, near)
		far.Close()
	}()
	_, _ = io.Copy(near, far)
}
