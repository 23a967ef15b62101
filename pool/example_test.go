package pool_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"path/filepath"

	openrdap "github.com/openrdap/rdap"

	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/pool"
)

// exampleServer represents a server on the Internet.
func exampleServer() *rdaptest.Server {
	s, err := rdaptest.New(rdaptest.Config{})
	if err != nil {
		log.Fatal(err)
	}
	return s
}

// A Pool is the Transport of an http.Client.
func Example() {
	server := exampleServer()
	defer server.Close()

	p, err := pool.New(pool.Config{TLS: &tls.Config{RootCAs: server.Pool()}})
	if err != nil {
		log.Fatal(err)
	}
	defer p.Close()
	client := &http.Client{Transport: p}

	for _, name := range []string{"courbu.example", "nic.example", "copacabana.example"} {
		resp, err := client.Get(server.URL() + "domain/" + name)
		if err != nil {
			log.Fatal(err)
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	s := p.Stats()
	fmt.Println(s.Requests, "requests,", s.Connections, "connection,", s.Handshakes.Avoided, "handshakes avoided")
	// Output: 3 requests, 1 connection, 2 handshakes avoided
}

// WithTrace describes how one request was sent.
func ExampleWithTrace() {
	server := exampleServer()
	defer server.Close()
	p, err := pool.New(pool.Config{TLS: &tls.Config{RootCAs: server.Pool()}})
	if err != nil {
		log.Fatal(err)
	}
	defer p.Close()

	for range 2 {
		var t pool.Trace
		req, err := http.NewRequest(http.MethodGet, server.URL()+"domain/courbu.example", nil)
		if err != nil {
			log.Fatal(err)
		}
		resp, err := p.RoundTrip(req.WithContext(pool.WithTrace(req.Context(), &t)))
		if err != nil {
			log.Fatal(err)
		}
		resp.Body.Close()
		fmt.Println(t.Protocol, tls.VersionName(t.TLS), "reused:", t.Reused, "handshake paid:", t.Handshake > 0)
	}
	// Output:
	// h2 TLS 1.3 reused: false handshake paid: true
	// h2 TLS 1.3 reused: true handshake paid: false
}

// A Pool can be the transport of openrdap's client.
func Example_openrdap() {
	server := exampleServer()
	defer server.Close()
	p, err := pool.New(pool.Config{TLS: &tls.Config{RootCAs: server.Pool()}})
	if err != nil {
		log.Fatal(err)
	}
	defer p.Close()

	client := &openrdap.Client{HTTP: &http.Client{Transport: p}}
	for _, name := range []string{"courbu.example", "nic.example"} {
		request := openrdap.NewDomainRequest(name)
		request = request.WithServer(mustParse(server.URL()))
		resp, err := client.Do(request)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(resp.Object.(*openrdap.Domain).LDHName)
	}
	fmt.Println(p.Stats().Connections, "connection")
	// Output:
	// COURBU.EXAMPLE
	// NIC.EXAMPLE
	// 1 connection
}

// The next run of a program resumes the sessions of this run, and already has the protocol of
// each server. Trust names the certificate authorities. It is not needed for the system's
// authorities.
func ExampleOpenSessionFile() {
	server := exampleServer()
	defer server.Close()
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	for run := range 2 {
		sessions, err := pool.OpenSessionFile(filepath.Join(dir, "sessions"), 0, nil)
		if err != nil {
			log.Fatal(err)
		}
		origins, err := pool.OpenOriginFile(filepath.Join(dir, "hosts"))
		if err != nil {
			log.Fatal(err)
		}
		p, err := pool.New(pool.Config{
			TLS: &tls.Config{RootCAs: server.Pool()}, Trust: "our own authority",
			Sessions: sessions, Origins: origins,
		})
		if err != nil {
			log.Fatal(err)
		}
		resp, err := (&http.Client{Transport: p}).Get(server.URL() + "domain/courbu.example")
		if err != nil {
			log.Fatal(err)
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		h := p.Stats().Handshakes
		fmt.Printf("run %d: %d full, %d resumed\n", run+1, h.Full, h.Resumed)
		if err := errors.Join(p.Close(), sessions.Close(), origins.Close()); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// run 1: 1 full, 0 resumed
	// run 2: 0 full, 1 resumed
}
