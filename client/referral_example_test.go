package client_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"log"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/pool"
)

// The registry, and the registrar that it links to, both respond. The Claims show the
// differences of their records.
func ExampleResult_Merged() {
	ca, err := rdaptest.NewCA()
	if err != nil {
		log.Fatal(err)
	}
	registrar, err := rdaptest.New(rdaptest.Config{CA: ca, Source: rdaptest.Invented{Shape: rdaptest.Thick}})
	if err != nil {
		log.Fatal(err)
	}
	defer registrar.Close()
	registry, err := rdaptest.New(rdaptest.Config{CA: ca, Source: rdaptest.Invented{Registrar: registrar.URL()}})
	if err != nil {
		log.Fatal(err)
	}
	defer registry.Close()
	p, err := pool.New(pool.Config{TLS: &tls.Config{RootCAs: ca.Pool()}, AllowPrivate: true})
	if err != nil {
		log.Fatal(err)
	}
	defer p.Close()
	c, err := client.New(client.Config{Transport: p, Resolver: urls{registry.URL()}, Referral: client.ReferralRegistrar})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	q, err := client.Parse("alpha.example")
	if err != nil {
		log.Fatal(err)
	}
	r, err := c.Lookup(context.Background(), q)
	if err != nil {
		log.Fatal(err)
	}
	m, err := r.Merged()
	if err != nil {
		log.Fatal(err)
	}
	for _, claim := range m.Claims {
		if claim.Fact == client.FactDNSSEC || claim.Fact == "registrant" {
			fmt.Println(claim.Party, claim.Fact, claim.Values[0], claim.Differs)
		}
	}
	// Output:
	// registry dnssec signed true
	// registrar dnssec unsigned true
	// registrar registrant Moss and Gravel Press false
}
