// Package bootstrap finds the RDAP servers of a domain name, an IP address, an AS number or a
// tagged entity handle (RFC 9224 and RFC 8521). It reads IANA's registries and sends no RDAP
// query.
//
// Start with [New] and [Resolver.Resolve]. The zero [Config] works without a network: a dated
// snapshot of IANA's registries is part of the package. The Resolver downloads newer copies in
// the background; a lookup that an older copy can answer does not wait for the download. With
// [Config.Dir], processes share copies in a directory. Each file is downloaded once in its
// lifetime, then revalidated, and replaced only by a complete and plausible file.
//
// Every [Answer] has its source. If no copy lists a server, the error is a [NoServiceError]
// with the age of the copy. Such an error does not mean that the object does not exist.
//
// The exported API stays compatible. The format of cached files may change, which causes new
// downloads.
package bootstrap

import (
	"fmt"
	"net/netip"
	"time"
)

// A Subject is the kind of object that a [Question] is about. The zero value is invalid.
type Subject uint8

const (
	// ForDomain is a domain name, in A-labels. Resolve looks up in-addr.arpa and ip6.arpa names
	// in the address registries.
	ForDomain Subject = iota + 1
	// ForAddress is an IPv4 or IPv6 address or prefix.
	ForAddress
	// ForAutnum is an AS number.
	ForAutnum
	// ForEntity is an entity handle with a service provider tag (RFC 8521).
	ForEntity
	// ForNameserver is a host name; the registry of its domain serves it.
	ForNameserver
)

// String returns the name of the subject: "domain", "address", "autnum", "entity",
// "nameserver".
func (s Subject) String() string {
	switch s {
	case ForDomain:
		return "domain"
	case ForAddress:
		return "address"
	case ForAutnum:
		return "autnum"
	case ForEntity:
		return "entity"
	case ForNameserver:
		return "nameserver"
	}
	return fmt.Sprintf("Subject(%d)", uint8(s))
}

// A Question describes an object for which to find a server. For selects the other fields.
type Question struct {
	For Subject // kind of thing that the question is about
	// for ForDomain and ForNameserver: the name in A-labels and in any case, "." for the root;
	// for ForEntity: the handle
	Name   string
	Prefix netip.Prefix // for ForAddress: the prefix; a single address has the full prefix length
	Autnum uint32       // for ForAutnum: the AS number
	// for ForDomain: the question is about all names below Name, whose servers differ from those
	// of a top-level domain itself
	Below bool
}

// A Source is the origin of an [Answer].
type Source string

const (
	SourceIANA     Source = "iana"     // IANA's file, cached or just downloaded
	SourceSnapshot Source = "snapshot" // the copy of IANA's files inside this package
	SourceUnlisted Source = "unlisted" // the built-in list of servers that IANA does not list
	SourceOverride Source = "override" // the user's override file
	SourceServer   Source = "server"   // the server that the user specified for all queries
	SourceReferral Source = "referral" // a referral from another server
)

// An Answer has the servers for a [Question].
type Answer struct {
	// matching registry entry: "com", "192.0.2.0/24", "64496-64511", "ARIN"; empty with
	// SourceServer
	Entry string
	// base URLs, best first, each ending in "/" (or with a query); shared, so it must not be
	// modified
	URLs      []string
	Source    Source    // origin of the answer
	Published time.Time // publication date of the registry file; zero if there is none
}
