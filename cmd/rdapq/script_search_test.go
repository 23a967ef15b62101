package main

import (
	"fmt"
	"strconv"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/rdapq/rdapq/internal/rdaptest"
)

// directory returns the searchable objects of a server. These are exam1.example to
// exam5.example (Alice holds the odd numbers), their nameserver, the entity Alice, three nested
// networks, and two AS blocks.
func directory(ts *testscript.TestScript, pageSize string) *rdaptest.Searches {
	s := &rdaptest.Searches{}
	if pageSize != "" {
		n, err := strconv.Atoi(pageSize)
		ts.Check(err)
		s.PageSize = n
	}
	alice := rdaptest.Contact{Handle: "ALICE-EX", FN: "Alice Example", Email: "alice@holders.example", Role: "registrant"}
	s.Objects = []rdaptest.Object{
		{Class: "nameserver", Name: "ns1.exam1.example", Addresses: []string{"192.0.2.1"}},
		{Class: "entity", Entity: alice},
		{Class: "ip network", Name: "TOP", Prefix: "192.0.0.0/16"},
		{Class: "ip network", Name: "UP", Prefix: "192.0.2.0/24"},
		{Class: "ip network", Name: "SMALL", Prefix: "192.0.2.0/25"},
		{Class: "autnum", Name: "BLOCK", First: 64496, Last: 64511},
		{Class: "autnum", Name: "ONE", First: 64500, Last: 64500},
	}
	for i := range 5 {
		o := rdaptest.Object{Class: "domain", Name: fmt.Sprintf("exam%d.example", i+1), Created: fmt.Sprintf("20%02d-01-01T00:00:00Z", 60-i)}
		if i%2 == 0 {
			o.Entity, o.Nameservers = alice, []string{"ns1.exam1.example"}
		}
		s.Objects = append(s.Objects, o)
	}
	return s
}
