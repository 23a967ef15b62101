package client_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"slices"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/pool"
)

// exampleServer starts a server and returns a Client that behaves like
// client.New(client.Config{}) on the Internet, but trusts and queries that server.
func exampleServer(cfg rdaptest.Config) (*rdaptest.Server, *client.Client, func()) {
	s, err := rdaptest.New(cfg)
	if err != nil {
		log.Fatal(err)
	}
	p, err := pool.New(pool.Config{TLS: &tls.Config{RootCAs: s.Pool()}})
	if err != nil {
		log.Fatal(err)
	}
	c, err := client.New(client.Config{Transport: p, Resolver: urls{s.URL()}})
	if err != nil {
		log.Fatal(err)
	}
	return s, c, func() {
		c.Close()
		p.Close()
		s.Close()
	}
}

func ExampleClient_Lookup() {
	_, c, done := exampleServer(rdaptest.Config{}) // c behaves like client.New(client.Config{})
	defer done()

	q, err := client.Parse("BÜCHER.example")
	if err != nil {
		log.Fatal(err)
	}
	r, err := c.Lookup(context.Background(), q)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.Query, r.Verdict, r.Status)
	// Output: xn--bcher-kva.example registered 200
}

func ExampleClient_Batch() {
	_, c, done := exampleServer(rdaptest.Config{}) // c behaves like client.New(client.Config{})
	defer done()

	names := []string{"alpha.example", "free.example", "192.0.2.1", "no name"}
	for r := range c.Batch(context.Background(), client.Inputs(slices.Values(names))).All() {
		fmt.Println(r.Line, r.Query.Text, r.Verdict)
	}
	// Unordered output:
	// 1 alpha.example registered
	// 2 free.example not_found
	// 3 192.0.2.1 found
	// 4 no name invalid
}

func ExampleParse() {
	for _, text := range []string{"Example.COM.", "192.0.2.7/24", "AS1.10", "10.0.1"} {
		q, err := client.Parse(text)
		if e, ok := errors.AsType[*client.Error](err); ok {
			fmt.Println(e.Code, e.Message)
			continue
		}
		fmt.Println(q.Type, q, q.Path())
	}
	// Output:
	// domain example.com domain/example.com
	// ip 192.0.2.7/24 ip/192.0.2.7/24
	// autnum AS65546 autnum/65546
	// invalid "10.0.1": not a valid IPv4 address: fewer than four octets
}
