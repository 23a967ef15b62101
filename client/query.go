package client

import "net/netip"

// A Type is the kind of object a [Query] asks for.
type Type string

const (
	TypeDomain     Type = "domain"
	TypeIP         Type = "ip" // an address or a prefix
	TypeAutnum     Type = "autnum"
	TypeNameserver Type = "nameserver"
	TypeEntity     Type = "entity"
	TypeHelp       Type = "help"
)

// A Query is one question to RDAP (RFC 9082). Make it with [Parse] or
// [ParseAs].
type Query struct {
	Text   string       // as the user wrote it
	Type   Type         // what is asked for
	Name   string       // domain and nameserver: lower-case A-labels without final dot; entity: the handle byte for byte
	Prefix netip.Prefix // ip: the address with all its bits, or the prefix, host bits kept
	Autnum uint32       // autnum
	Server string       // base URL of the server to ask; empty: bootstrap finds it
}
