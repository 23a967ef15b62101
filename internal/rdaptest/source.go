package rdaptest

import (
	"net/http"
	"net/netip"
	"strconv"
	"strings"
)

// A Question is a parsed request.
type Question struct {
	Base string // base URL of the request, ending in "/"
	// class of the object: "domain", "ip", "autnum", "entity", "nameserver", "help", the first
	// segment of a search, or empty
	Class string
	Key   string // rest of the path, without escapes
	Query string // raw query of the URL
}

// An Answer is a status and an RDAP body.
type Answer struct {
	Status int
	Body   []byte // body, which the server does not change and may share
}

// A Source returns the data of a server. It must be safe for concurrent use.
type Source interface {
	Answer(Question) Answer
}

// Invented is a [Source] with a record for every query. All domains, nameservers and
// entities exist, except those whose first label begins with "free". Each address is in
// its own /24 or /48, and all AS numbers are assigned. The zero value is ready to use.
type Invented struct {
	Shape     Shape  // shape of domains; empty means Thin
	Registrar string // base URL of the related link in domain objects; empty means none

	tag string // suffix of entity handles in address and AS number objects
}

// Answer implements [Source].
func (v Invented) Answer(q Question) Answer {
	switch q.Class {
	case "domain":
		name, ok := cleanName(q.Key)
		switch {
		case !ok:
			return Refusal(http.StatusBadRequest, "not a domain name")
		case strings.HasPrefix(name, "free"):
			return Refusal(http.StatusNotFound, "no such domain", name)
		case strings.HasSuffix(name, ".arpa"):
			return found("reverse", nameFacts(q.Base, name))
		}
		f := nameFacts(q.Base, name)
		f.related = v.Registrar
		return domainAnswer(v.Shape, f)
	case "nameserver":
		name, ok := cleanName(q.Key)
		switch {
		case !ok:
			return Refusal(http.StatusBadRequest, "not a host name")
		case strings.HasPrefix(name, "free"):
			return Refusal(http.StatusNotFound, "no such nameserver", name)
		}
		return found("nameserver", nameFacts(q.Base, name))
	case "entity":
		switch {
		case !clean(q.Key):
			return Refusal(http.StatusBadRequest, "not a handle")
		case strings.HasPrefix(strings.ToLower(q.Key), "free"):
			return Refusal(http.StatusNotFound, "no such entity", q.Key)
		}
		return found("entity", &facts{base: q.Base, key: q.Key, hash: hash(q.Key)})
	case "ip":
		p, ok := parsePrefix(q.Key)
		if !ok {
			return Refusal(http.StatusBadRequest, "not an address or a prefix")
		}
		return networkAnswer(q.Base, p, v.tag)
	case "autnum":
		n, err := strconv.ParseUint(q.Key, 10, 32)
		if err != nil {
			return Refusal(http.StatusBadRequest, "not an AS number")
		}
		return found("autnum", &facts{base: q.Base, number: uint32(n), hash: hash(q.Key), tag: v.tag})
	case "help":
		return found("help", &facts{base: q.Base})
	case "":
		return Refusal(http.StatusNotFound, "no such path")
	}
	return Refusal(http.StatusNotImplemented, "searches are not supported")
}

func found(name string, f *facts) Answer {
	return Answer{http.StatusOK, templates()[name].render(make([]byte, 0, 5<<10), f)}
}

// Refusal returns an RDAP error (RFC 9083 section 6) with words as its description.
func Refusal(status int, words ...string) Answer {
	return Answer{status, errorBody(status, words...)}
}

func domainAnswer(shape Shape, f *facts) Answer {
	if shape == "" {
		shape = Thin
	}
	return found(string(shape), f)
}

func nameFacts(base, name string) *facts {
	f := &facts{base: base, key: name, name: name, hash: hash(name)}
	f.tld = name[strings.LastIndexByte(name, '.')+1:]
	return f
}

// networkAnswer returns the network of the /24 or /48 around p, or of p itself if p is wider.
func networkAnswer(base string, p netip.Prefix, tag string) Answer {
	bits, parent, ver := min(p.Bits(), 24), 16, "v4"
	if p.Addr().Is6() {
		bits, parent, ver = min(p.Bits(), 48), 32, "v6"
	}
	p = netip.PrefixFrom(p.Addr(), bits).Masked()
	up := netip.PrefixFrom(p.Addr(), min(parent, bits)).Masked()
	f := &facts{base: base, ver: ver, bits: bits, tag: tag, hash: hash(p.String())}
	f.start, f.end = p.Addr().String(), lastAddr(p).String()
	f.parent = strconv.FormatUint(1_000_000+hash(up.String())%8_999_999, 10)
	return found("network", f)
}

func parsePrefix(s string) (netip.Prefix, bool) {
	if a, err := netip.ParseAddr(s); err == nil && a.Zone() == "" {
		return netip.PrefixFrom(a, a.BitLen()), true
	}
	p, err := netip.ParsePrefix(s)
	return p, err == nil
}

func lastAddr(p netip.Prefix) netip.Addr {
	b := p.Masked().Addr().AsSlice()
	for i := p.Bits(); i < len(b)*8; i++ {
		b[i/8] |= 0x80 >> (i % 8)
	}
	a, _ := netip.AddrFromSlice(b) // the lengths are equal
	return a
}

// cleanName lower-cases a name of A-labels, and reports whether it is valid.
func cleanName(s string) (string, bool) {
	s = strings.TrimSuffix(strings.ToLower(s), ".")
	if s == "" || len(s) > 253 {
		return "", false
	}
	for _, b := range []byte(s) {
		if (b < 'a' || b > 'z') && (b < '0' || b > '9') && b != '-' && b != '.' && b != '_' {
			return "", false
		}
	}
	return s, true
}

// clean reports whether s needs no escapes in JSON.
func clean(s string) bool {
	for _, b := range []byte(s) {
		if b < ' ' || b > '~' || b == '"' || b == '\\' {
			return false
		}
	}
	return s != ""
}
