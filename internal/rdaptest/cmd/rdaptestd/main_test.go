package main

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rdapq/rdapq/internal/rdaptest"
)

// start runs the command until the test ends, and returns its output once it is
// ready.
func start(t *testing.T, args ...string) ready {
	t.Helper()
	stdin, closeStdin := io.Pipe()
	out, stdout := io.Pipe()
	done := make(chan error)
	go func() {
		err := run(t.Context(), args, stdin, stdout, io.Discard)
		stdout.CloseWithError(err)
		done <- err
	}()
	t.Cleanup(func() {
		closeStdin.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	var r ready
	if err := json.Unmarshal(line, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRun(t *testing.T) {
	dir := t.TempDir()
	r := start(t, "-dir", dir, "-servers", "2", "-tlds", "com,net,org", "-proto", "h1", "-announce-after", "2")
	if len(r.Servers) != 2 || !slices.Equal(r.Servers[0].TLDs, []string{"com", "org"}) {
		t.Fatalf("ready: %+v", r)
	}
	pem, err := os.ReadFile(r.CA)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
	client := &http.Client{Transport: transport}
	t.Cleanup(transport.CloseIdleConnections)
	status := func(url string) int {
		t.Helper()
		resp, err := client.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if body, err := io.ReadAll(resp.Body); err != nil || !json.Valid(body) {
			t.Errorf("%s: body %q, %v", url, body, err)
		}
		return resp.StatusCode
	}
	for range 2 {
		if got := status(r.Servers[0].URL + "domain/dom1.com"); got != 200 {
			t.Errorf("status %d", got)
		}
		if got := status(r.Servers[0].URL + "domain/free1.com"); got != 404 {
			t.Errorf("status %d", got)
		}
	}
	resp, err := client.Get(r.Control + "-/counts?conns=1")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var counts struct {
		Total   rdaptest.Counts
		Servers []struct {
			URL    string
			Counts rdaptest.Counts
		}
	}
	if err := json.NewDecoder(resp.Body).Decode(&counts); err != nil {
		t.Fatal(err)
	}
	if counts.Total.Requests != 4 || counts.Total.Connections != 2 || len(counts.Servers) != 2 ||
		!slices.Equal(counts.Servers[0].Counts.PerConn(), []int64{2, 2}) || counts.Servers[0].URL != r.Servers[0].URL {
		t.Errorf("counts %+v", counts)
	}
	for _, name := range []string{"dns", "ipv4", "ipv6", "asn", "object-tags", "servers"} {
		body, err := os.ReadFile(filepath.Join(dir, name+".json"))
		if err != nil || !json.Valid(body) || !strings.Contains(string(body), r.Servers[0].URL) {
			t.Errorf("%s.json: %s, %v", name, body, err)
		}
	}
}

func TestBadFlags(t *testing.T) {
	for _, args := range [][]string{
		{},
		{"-dir", "x", "-proto", "h3"},
		{"-dir", "x", "-servers", "0"},
		{"-dir", "x", "-shape", "round"},
		{"-dir", "x", "more"},
		{"-nonsense"},
	} {
		if err := run(t.Context(), args, nil, io.Discard, io.Discard); err == nil {
			t.Errorf("%q is taken", args)
		}
	}
}
