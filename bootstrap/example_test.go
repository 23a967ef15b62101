package bootstrap_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/rdapq/rdapq/bootstrap"
)

func Example() {
	// with Dir set and online, a Resolver uses IANA's newest files
	r, err := bootstrap.New(bootstrap.Config{Offline: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	a, err := r.Resolve(context.Background(), bootstrap.Question{For: bootstrap.ForDomain, Name: "example.com"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(a.Entry, a.Source)
	fmt.Println(bootstrap.JoinURL(a.URLs[0], "domain/example.com"))
	// Output:
	// com snapshot
	// https://rdap.verisign.com/com/v1/domain/example.com
}

// A name that no registry lists may exist.
func ExampleNoServiceError() {
	const file = `{"publication":"2026-01-01T00:00:00Z","services":[[["example"],["https://rdap.example/"]]]}`
	r, err := bootstrap.New(bootstrap.Config{
		Files:    map[bootstrap.Registry][]byte{bootstrap.RegistryDNS: []byte(file)},
		IANAOnly: true,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	_, err = r.Resolve(context.Background(), bootstrap.Question{For: bootstrap.ForDomain, Name: "alpha.zz"})
	fmt.Println(errors.Is(err, bootstrap.ErrNoService))
	fmt.Println(err)
	// Output:
	// true
	// no RDAP service known for .zz by IANA's dns registry of 2026-01-01
}

func ExampleParseOverrides() {
	o, err := bootstrap.ParseOverrides(strings.NewReader(`
		# our own registry, not public yet
		example         https://rdap.registry.example/
		192.0.2.0/24    https://rdap.rir.example/
		AS64496-64511   https://rdap.rir.example/
		-EXAMPLE        https://rdap.rir.example/
	`))
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := bootstrap.New(bootstrap.Config{Offline: true, Overrides: o})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	a, err := r.Resolve(context.Background(), bootstrap.Question{
		For:    bootstrap.ForAddress,
		Prefix: netip.MustParsePrefix("192.0.2.128/25"),
	})
	fmt.Println(a.Source, a.Entry, a.URLs, err)
	// Output:
	// override 192.0.2.0/24 [https://rdap.rir.example/] <nil>
}

// A process that ends right after its lookups should wait for a refresh, for a short time.
func ExampleResolver_Wait() {
	r, err := bootstrap.New(bootstrap.Config{Offline: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	// ... lookups ...
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	fmt.Println(r.Wait(ctx))
	// Output:
	// <nil>
}
