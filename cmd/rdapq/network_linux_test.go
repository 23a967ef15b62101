package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rdapq/rdapq/bootstrap"
	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/namespace"
	"github.com/rdapq/rdapq/internal/rdaptest"
)

// In a network where only a proxy can be reached, the command and the library fill an empty
// cache through the proxy. The client resolves no host name and sends packets only to the
// proxy.
func TestBootstrapThroughProxy(t *testing.T) {
	if !namespace.Enter(t) {
		return
	}
	var mu sync.Mutex
	var resolved []string
	namespace.Answer(t, func(name string) []netip.Addr {
		mu.Lock()
		defer mu.Unlock()
		resolved = append(resolved, name)
		return nil
	})
	ca, err := rdaptest.NewCA()
	if err != nil {
		t.Fatal(err)
	}
	caFile := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(caFile, ca.PEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SSL_CERT_FILE", caFile) // for the library, whose configuration is the zero value here
	files := &registries{maxAge: "86400", services: map[string][]rdaptest.Service{
		"dns": {{Entries: []string{"zz"}, URLs: []string{"https://rdap.zz.example/"}}},
	}}
	iana := rdaptest.Start(t, rdaptest.Config{CA: ca, Names: []string{"data.iana.org"}, Handler: files})
	registry := rdaptest.Start(t, rdaptest.Config{CA: ca, Names: []string{"rdap.zz.example"}})
	to := map[string]string{"data.iana.org:443": iana.Addr(), "rdap.zz.example:443": registry.Addr()}
	tunnels := &proxy{to: to}
	web := httptest.NewServer(tunnels)
	t.Cleanup(web.Close)
	socks := newSOCKS(t, to)

	routes := unroutable(t)
	for _, tt := range []struct{ name, flag, variable string }{
		{"HTTP proxy of --proxy", web.URL, ""},
		{"SOCKS5 proxy of --proxy", "socks5h://" + socks, ""},
		{"HTTP proxy of HTTPS_PROXY", "", web.URL},
		{"SOCKS5 proxy of HTTPS_PROXY", "", "socks5h://" + socks},
	} {
		before := iana.Counts().Requests
		args := []string{"--format", "ndjson", "--http", "2", "a.zz"}
		if tt.flag != "" {
			args = append(args, "--proxy", tt.flag, "--ca", caFile)
		}
		cmd, stderr := command(t, args...)
		cmd.Env = append(cmd.Env, "SSL_CERT_FILE="+caFile)
		if tt.variable != "" {
			cmd.Env = append(cmd.Env, "HTTPS_PROXY="+tt.variable)
		}
		var out bytes.Buffer
		cmd.Stdout = &out
		if err := cmd.Run(); err != nil || !strings.Contains(out.String(), `"source":"iana"`) || !strings.Contains(out.String(), `"verdict":"registered"`) {
			t.Errorf("%s: %v\n%s%s", tt.name, err, &out, stderr)
		}
		if n := iana.Counts().Requests - before; n != 1 {
			t.Errorf("%s: %d requests for IANA's files, want 1", tt.name, n)
		}
	}

	// http.ProxyFromEnvironment, on which the library's default is modelled, is not suitable:
	// it reads the environment only once per process.
	for _, proxy := range []string{web.URL, "socks5h://" + socks} {
		t.Setenv("HTTPS_PROXY", proxy)
		c, err := client.New(client.Config{})
		if err != nil {
			t.Fatal(err)
		}
		q, err := client.Parse("a.zz")
		if err != nil {
			t.Fatal(err)
		}
		r, err := c.Lookup(t.Context(), q)
		if err != nil || r.Verdict != client.VerdictRegistered || r.Source != bootstrap.SourceIANA {
			t.Errorf("a zero Config with HTTPS_PROXY=%s: %+v, %v", proxy, r, err)
		}
		c.Close()
	}
	mu.Lock()
	defer mu.Unlock()
	if len(resolved) > 0 {
		t.Errorf("host names resolved outside the proxy: %v", resolved)
	}
	if n := unroutable(t) - routes; n != 0 {
		t.Errorf("%d packets were sent to other networks", n)
	}
	if tunnels.tunnels.Load() < 2*3 {
		t.Errorf("%d tunnels", tunnels.tunnels.Load())
	}
}

// TestNetworkFlagsReachBootstrap checks that the network flags apply to the download of IANA's
// files: --resolve, --ca, --http and --user-agent.
func TestNetworkFlagsReachBootstrap(t *testing.T) {
	if !namespace.Enter(t) {
		return
	}
	ca, err := rdaptest.NewCA()
	if err != nil {
		t.Fatal(err)
	}
	caFile := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(caFile, ca.PEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	files := &registries{maxAge: "86400", services: map[string][]rdaptest.Service{
		"dns": {{Entries: []string{"zz"}, URLs: []string{"https://rdap.zz.example/"}}},
	}}
	rdaptest.Start(t, rdaptest.Config{CA: ca, Names: []string{"rdap.zz.example"}, Addr: "127.0.0.1:443"})
	iana := rdaptest.Start(t, rdaptest.Config{CA: ca, Names: []string{"data.iana.org"}, Handler: files, Log: true, Addr: "127.0.0.2:443"})
	for _, tt := range []struct {
		flags []string
		proto string
	}{
		{[]string{"--ca", caFile, "--http", "1.1"}, "HTTP/1.1"},
		{[]string{"-k", "--http", "2"}, "HTTP/2.0"},
		{[]string{"--ca", caFile, "--bind", "127.0.0.3", "--tls-max", "1.2", "-4"}, "HTTP/2.0"},
	} {
		args := append([]string{
			"--format", "ndjson", "--user-agent", "bespoke/1", "a.zz",
			"--resolve", "data.iana.org:443:127.0.0.2", "--resolve", "rdap.zz.example:443:127.0.0.1",
		}, tt.flags...)
		cmd, stderr := command(t, args...)
		var out bytes.Buffer
		cmd.Stdout = &out
		if err := cmd.Run(); err != nil || !strings.Contains(out.String(), `"source":"iana"`) {
			t.Errorf("%v: %v\n%s%s", tt.flags, err, &out, stderr)
			continue
		}
		log := iana.Log()
		last := log[len(log)-1]
		got := http.Header(last.Header).Get("User-Agent")
		if last.Protocol != tt.proto || got != "bespoke/1" {
			t.Errorf("%v: IANA's file was requested by %s as %q", tt.flags, last.Protocol, got)
		}
	}
}

// unroutable returns the number of packets without a route out of this namespace.
func unroutable(t *testing.T) (n int) {
	t.Helper()
	for _, c := range []struct{ file, name string }{{"/proc/self/net/snmp", "OutNoRoutes"}, {"/proc/self/net/snmp6", "Ip6OutNoRoutes"}} {
		data, err := os.ReadFile(c.file)
		if err != nil {
			continue // the machine has no IPv6
		}
		lines := strings.Split(string(data), "\n")
		for i, line := range lines {
			fields := strings.Fields(line)
			for at, field := range fields {
				var v int
				switch {
				case field == c.name && len(fields) == 2: // a line of snmp6 has a name and a value
					fmt.Sscan(fields[1], &v)
				case field == c.name && i+1 < len(lines): // snmp has names above values
					fmt.Sscan(strings.Fields(lines[i+1])[at], &v)
				}
				n += v
			}
		}
	}
	return n
}

// newSOCKS starts a SOCKS5 proxy (RFC 1928) that maps names to addresses with to and
// refuses all others. It returns its address.
func newSOCKS(t *testing.T, to map[string]string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	serve := func(near net.Conn) {
		defer near.Close()
		head := make([]byte, 2)
		_, err := io.ReadFull(near, head)
		if err == nil {
			_, err = io.CopyN(io.Discard, near, int64(head[1]))
		}
		_, _ = near.Write([]byte{5, 0})
		request := make([]byte, 5)
		if _, e := io.ReadFull(near, request); err != nil || e != nil || request[3] != 3 {
			return // the request has an address, so the client has resolved the name
		}
		host := make([]byte, int(request[4])+2)
		if _, err := io.ReadFull(near, host); err != nil {
			return
		}
		name, port := host[:request[4]], binary.BigEndian.Uint16(host[request[4]:])
		far, err := net.Dial("tcp", to[fmt.Sprintf("%s:%d", name, port)])
		if err != nil {
			return
		}
		defer far.Close()
		_, _ = near.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
		go func() {
			_, _ = io.Copy(far, near)
			far.Close()
		}()
		_, _ = io.Copy(near, far)
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go serve(c)
		}
	}()
	return l.Addr().String()
}
