// Package bootstrap tells which RDAP servers answer for a domain name, an IP
// address, an AS number or a tagged entity handle (RFC 9224 and RFC 8521).
//
// Start with [New] and [Resolver.Resolve]. The zero [Config] works without a
// network: a dated snapshot of IANA's registries is part of the package, and
// fresh copies are fetched beside it, never in the way of a lookup that the
// older copy can answer. With [Config.Dir] they are kept from run to run, and
// shared by processes: each file is fetched once in its lifetime, revalidated
// after that, and replaced only by one that is whole and plausible.
//
// Every [Answer] says where it comes from. What no copy lists is a
// [NoServiceError], which says how old that copy is, and never a statement
// about the object.
//
// What is exported here stays compatible; the files in the cache may change
// their form, and are fetched anew then.
package bootstrap

import (
	"fmt"
	"net/netip"
	"time"
)

// A Class is the kind of thing a [Question] asks about.
type Class uint8

const (
	// Domain is a domain name, in A-labels; in-addr.arpa and ip6.arpa names
	// are looked up in the address registries.
	Domain Class = iota + 1
	// Address is an IPv4 or IPv6 address or prefix.
	Address
	// Autnum is an AS number.
	Autnum
	// Entity is an entity handle with a service provider tag (RFC 8521).
	Entity
	// Nameserver is a host name; its domain's registry answers for it.
	Nameserver
)

// String returns the class in words: "domain", "address", "autnum", "entity",
// "nameserver".
func (c Class) String() string {
	switch c {
	case Domain:
		return "domain"
	case Address:
		return "address"
	case Autnum:
		return "autnum"
	case Entity:
		return "entity"
	case Nameserver:
		return "nameserver"
	}
	return fmt.Sprintf("Class(%d)", uint8(c))
}

// A Question is what to find a server for. Class says which of the other
// fields counts.
type Question struct {
	Class  Class
	Name   string       // Domain, Nameserver: the name in A-labels, "." for the root; Entity: the handle
	Prefix netip.Prefix // Address: a single address has all its bits
	Autnum uint32
	Below  bool // Domain: the question is about all names below Name; they and a top-level domain itself have different servers
}

// A Source says where an [Answer] comes from.
type Source string

const (
	SourceIANA     Source = "iana"     // IANA's file, from the cache or freshly fetched
	SourceSnapshot Source = "snapshot" // the copy of IANA's files inside this package
	SourceUnlisted Source = "unlisted" // a built-in list of servers that IANA does not list
	SourceOverride Source = "override" // the user's override file
	SourceServer   Source = "server"   // a server that the user named for all queries
	SourceReferral Source = "referral" // another server's answer pointed there
)

// An Answer names the servers for a [Question].
type Answer struct {
	Entry     string    // the registry entry that matched: "com", "192.0.2.0/24", "64496-64511", "ARIN"; empty with SourceServer
	URLs      []string  // base URLs, best first, each ending in "/" (or carrying a query); shared, do not change
	Source    Source    // who says so
	Published time.Time // publication date of the registry file; zero where there is none
}
