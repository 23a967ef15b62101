// Command port prints the registrar and the nameservers of domains. It was written for the
// Client of github.com/openrdap/rdap and now uses rdapq, but keeps openrdap's types: only
// lookup.go is different. before_test.go has the earlier version.
//
//	go run . example.com example.net
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"

	"github.com/openrdap/rdap"

	"github.com/rdapq/rdapq/client"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	c, err := client.New(client.Config{UserAgent: "example-port/1.0"})
	if err != nil {
		fmt.Fprintln(os.Stderr, "port:", err)
		os.Exit(1)
	}
	code := 0
	for _, name := range os.Args[1:] {
		d, err := lookup(ctx, c, name)
		if err != nil {
			fmt.Fprintf(os.Stderr, "port: %s: %v\n", name, err)
			code = 1
			continue
		}
		fmt.Print(describe(d))
	}
	if err := c.Close(); err != nil {
		fmt.Fprintln(os.Stderr, "port:", err)
		code = 1
	}
	os.Exit(code)
}

// describe returns the report about a domain. It is the same in both versions.
func describe(d *rdap.Domain) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", strings.ToLower(d.LDHName))
	for _, e := range d.Entities {
		for _, role := range e.Roles {
			if role == "registrar" && e.VCard != nil {
				fmt.Fprintf(&b, "  registrar  %s\n", e.VCard.Name())
			}
		}
	}
	for _, ns := range d.Nameservers {
		fmt.Fprintf(&b, "  nameserver %s\n", strings.ToLower(ns.LDHName))
	}
	for _, e := range d.Events {
		if e.Action == "expiration" {
			fmt.Fprintf(&b, "  expires    %s\n", e.Date)
		}
	}
	return b.String()
}
