package rdap

import (
	"net/netip"
	"strconv"
	"strings"
)

// A cidr is an item of cidr0_cidrs, an extension of the NRO registries.
type cidr struct {
	prefix string
	length *uint32
}

func (r *reader) cidrs() (out []cidr, whole bool) {
	before := len(r.problems)
	for l := r.list(); l.more(r); {
		r.token()
		var c cidr
		for r.next() {
			switch r.member() {
			case "v4prefix", "v6prefix":
				r.str(&c.prefix)
			case "length":
				r.number(&c.length)
			default:
				r.skip()
			}
		}
		if c.parse().IsValid() {
			out = append(out, c)
		} else {
			r.discard("not a valid prefix")
		}
	}
	return out, len(r.problems) == before
}

func (c cidr) parse() netip.Prefix {
	a := parseBound(c.prefix)
	switch {
	case !a.addr.IsValid():
		return netip.Prefix{}
	case c.length == nil:
		return a.prefix()
	case *c.length > 128:
		return netip.Prefix{}
	}
	return netip.PrefixFrom(a.addr, int(*c.length))
}

// A rangeBound is a parsed startAddress or endAddress.
type rangeBound struct {
	addr   netip.Addr // address of the bound; zero if invalid
	bits   int        // prefix length; -1 if absent
	padded bool       // the numbers of the address have leading zeros
}

// prefix returns the network that a bound with a prefix length denotes, or the zero Prefix.
func (e rangeBound) prefix() netip.Prefix {
	if p := netip.PrefixFrom(e.addr, e.bits); p.IsValid() && p.Masked().Addr() == e.addr {
		return p
	}
	return netip.Prefix{}
}

// parseBound parses one bound of a range, which may have a prefix length.
func parseBound(s string) rangeBound {
	text, length, slash := strings.Cut(strings.TrimSpace(s), "/")
	e := rangeBound{bits: -1}
	if slash {
		n, err := strconv.ParseUint(length, 10, 8)
		if err != nil || n > 128 {
			return e
		}
		e.bits = int(n)
	}
	text = strings.TrimSpace(text)
	addr, err := netip.ParseAddr(text)
	if err != nil {
		if text, e.padded = withoutPadding(text); e.padded {
			addr, err = netip.ParseAddr(text)
		}
	}
	if err != nil || e.bits > addr.BitLen() {
		return rangeBound{bits: -1}
	}
	e.addr = addr
	return e
}

// withoutPadding removes the leading zeros of an IPv4 address whose numbers all have three
// digits. Such numbers are certainly decimal, whereas others may be octal.
func withoutPadding(s string) (string, bool) {
	if len(s) != len("000.000.000.000") {
		return s, false
	}
	parts := strings.Split(s, ".")
	for i, p := range parts {
		if len(p) != 3 {
			return s, false
		}
		if parts[i] = strings.TrimLeft(p, "0"); parts[i] == "" {
			parts[i] = "0"
		}
	}
	return strings.Join(parts, "."), len(parts) == 4
}

// addressRange parses the bounds of a range. If both bounds are the same prefix, or one bound
// is a prefix and the other absent, it returns the range of the prefix. ok is false if the
// range is ambiguous.
func addressRange(start, end string) (first, last netip.Addr, ok bool) {
	from, to := parseBound(start), parseBound(end)
	whole := from
	switch {
	case strings.TrimSpace(start) == "":
		whole = to
	case strings.TrimSpace(end) == "" || from == to && from.bits >= 0:
	case !from.addr.IsValid() || !to.addr.IsValid(),
		// the bound may mean a prefix, or one address of the prefix
		from.addr == to.addr && from.bits != to.bits:
		return first, last, false
	default:
		return from.addr, to.addr, from.addr.BitLen() == to.addr.BitLen() && !to.addr.Less(from.addr)
	}
	if p := whole.prefix(); p.IsValid() {
		return p.Addr(), LastAddr(p), true
	}
	return first, last, false
}

// AddressRange returns the first and last address of an IP network from its startAddress and
// endAddress (RFC 9083 section 5.4). It accepts the forms that servers send, such as leading
// zeros ("074.125.000.000") and a prefix in place of both addresses. If the range is absent or
// ambiguous, ok is false.
func (rec *Record) AddressRange() (first, last netip.Addr, ok bool) {
	return addressRange(rec.StartAddress, rec.EndAddress)
}

// spelling returns an address as sent, if the server sent addr itself, possibly with a prefix
// length. Otherwise it returns addr in canonical form.
func spelling(sent string, addr netip.Addr) string {
	sent, _, _ = strings.Cut(sent, "/")
	sent = strings.TrimSpace(sent)
	if written, err := netip.ParseAddr(sent); err == nil && written == addr {
		return sent
	}
	return addr.String()
}

// rangeEnd reads one bound of a range.
func (r *reader) rangeEnd(dst *string) {
	r.str(dst)
	switch e := parseBound(*dst); {
	case e.padded:
		r.warn("address has leading zeros; read as decimal")
	case e.bits >= 0:
		r.warn("expected an address, found a prefix")
	}
}

// fillCIDRs sets the prefixes of an IP network. It uses the server's own prefixes if the server
// sent any and none was discarded, and otherwise the prefixes that cover the range.
func (r *reader) fillCIDRs(rec *Record, cidrs []cidr, whole bool) {
	if len(cidrs) > 0 {
		rec.CIDRs = make([]netip.Prefix, len(cidrs))
		for i, c := range cidrs {
			rec.CIDRs[i] = c.parse()
		}
		if whole {
			return
		}
	}
	if rec.StartAddress == "" && rec.EndAddress == "" {
		return
	}
	first, last, ok := rec.AddressRange()
	if !ok {
		switch from, to := parseBound(rec.StartAddress), parseBound(rec.EndAddress); {
		case rec.StartAddress == "" && to.addr.IsValid() || rec.EndAddress == "" && from.addr.IsValid():
		case !from.addr.IsValid() || !to.addr.IsValid():
			r.discard("startAddress and endAddress are not both IP addresses")
		default:
			r.discard("startAddress and endAddress do not form a range")
		}
		return
	}
	if made := RangePrefixes(first, last); made != nil {
		rec.CIDRs = made
	} else {
		r.discard("startAddress and endAddress do not form a range")
	}
}

// RangePrefixes returns the fewest prefixes that cover the addresses from first to last, or nil
// if they are not a range. For IPv6 the result has at most 254 prefixes.
func RangePrefixes(first, last netip.Addr) []netip.Prefix {
	if first.BitLen() != last.BitLen() || last.Less(first) || first.Zone() != "" || last.Zone() != "" {
		return nil
	}
	var out []netip.Prefix
	for {
		// p becomes the largest block that starts at first and does not exceed last.
		p := netip.PrefixFrom(first, first.BitLen())
		end := first
		for p.Bits() > 0 {
			wider := netip.PrefixFrom(first, p.Bits()-1)
			if wider.Masked().Addr() != first {
				break
			}
			widerEnd := LastAddr(wider)
			if last.Less(widerEnd) {
				break
			}
			p, end = wider, widerEnd
		}
		out = append(out, p)
		if end == last {
			return out
		}
		first = end.Next()
	}
}

// LastAddr returns the highest address of p.
func LastAddr(p netip.Prefix) netip.Addr {
	if p.Addr().Is4() {
		b := p.Addr().As4()
		setHostBits(b[:], p.Bits())
		return netip.AddrFrom4(b)
	}
	b := p.Addr().As16()
	setHostBits(b[:], p.Bits())
	return netip.AddrFrom16(b)
}

func setHostBits(b []byte, bits int) {
	for i := range b {
		if host := (i+1)*8 - bits; host > 0 {
			b[i] |= byte(0xff >> max(8-host, 0))
		}
	}
}
