package rdaptest

import (
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// A catalogue is a [Source] with a fixed set of objects.
type catalogue struct {
	shape     Shape
	domains   map[string]bool
	referring bool // domain objects link to the registrar's server
	networks  []netip.Prefix
	autnums   [][2]uint32 // inclusive ranges
	tag       string      // suffix of existing entity handles, such as "-INVN"
}

func (c *catalogue) Answer(q Question) Answer {
	if !c.knows(q) {
		switch q.Class {
		case "domain", "nameserver", "entity", "ip", "autnum":
			if a := (Invented{}).Answer(q); a.Status == http.StatusBadRequest {
				return a
			}
			return Refusal(http.StatusNotFound, "the invented registry has no "+q.Class+" of that name")
		}
	}
	if q.Class == "domain" {
		name, _ := cleanName(q.Key) // a known name is valid
		if strings.HasSuffix(name, ".arpa") {
			return found("reverse", nameFacts(q.Base, name))
		}
		f := nameFacts(q.Base, name)
		if c.referring {
			f.related = "https://rdap." + f.registrar().slug + ".example/"
		}
		return domainAnswer(c.shape, f)
	}
	return Invented{tag: c.tag}.Answer(q)
}

// knows reports whether the object that q names exists.
func (c *catalogue) knows(q Question) bool {
	switch q.Class {
	case "domain":
		name, ok := cleanName(q.Key)
		if p, reverse := reversePrefix(name); reverse {
			return c.holds(p)
		}
		return ok && c.domains[name]
	case "nameserver":
		name, ok := cleanName(q.Key)
		_, parent, _ := strings.Cut(name, ".")
		return ok && c.domains[parent]
	case "entity":
		if c.tag != "" {
			return clean(q.Key) && strings.HasSuffix(q.Key, c.tag)
		}
		for _, r := range registrars {
			if q.Key == r.id {
				return true
			}
		}
		return false
	case "ip":
		p, ok := parsePrefix(q.Key)
		return ok && c.holds(p)
	case "autnum":
		n, err := strconv.ParseUint(q.Key, 10, 32)
		return err == nil && slices.ContainsFunc(c.autnums, func(r [2]uint32) bool {
			return r[0] <= uint32(n) && uint32(n) <= r[1]
		})
	case "help":
		return true
	}
	return false
}

func (c *catalogue) holds(p netip.Prefix) bool {
	return slices.ContainsFunc(c.networks, func(n netip.Prefix) bool {
		return n.Bits() <= p.Bits() && n.Contains(p.Addr())
	})
}

// reversePrefix returns the prefix of an in-addr.arpa or ip6.arpa name that consists of
// whole octets or nibbles.
func reversePrefix(name string) (netip.Prefix, bool) {
	if rest, ok := strings.CutSuffix(name, ".in-addr.arpa"); ok {
		labels := strings.Split(rest, ".")
		if len(labels) > 4 {
			return netip.Prefix{}, false
		}
		slices.Reverse(labels)
		text := strings.Join(labels, ".") + strings.Repeat(".0", 4-len(labels))
		a, err := netip.ParseAddr(text)
		return netip.PrefixFrom(a, 8*len(labels)), err == nil
	}
	rest, ok := strings.CutSuffix(name, ".ip6.arpa")
	labels := strings.Split(rest, ".")
	if !ok || len(labels) > 32 {
		return netip.Prefix{}, false
	}
	slices.Reverse(labels)
	digits := strings.Join(labels, "")
	if len(digits) != len(labels) {
		return netip.Prefix{}, false
	}
	digits += strings.Repeat("0", 32-len(digits))
	groups := make([]string, 8)
	for i := range groups {
		groups[i] = digits[4*i : 4*i+4]
	}
	a, err := netip.ParseAddr(strings.Join(groups, ":"))
	return netip.PrefixFrom(a, 4*len(labels)), err == nil
}
