package client

import (
	"net/netip"
	"strings"
)

// A cidr is an item of cidr0_cidrs, the extension that NRO registries share.
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
			switch r.name() {
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
			r.lost("no prefix")
		}
	}
	return out, len(r.problems) == before
}

func (c cidr) parse() netip.Prefix {
	addr, err := netip.ParseAddr(c.prefix)
	if err != nil || c.length == nil || *c.length > 128 {
		return netip.Prefix{}
	}
	return netip.PrefixFrom(addr, int(*c.length))
}

// rangeEnd reads one end of a range.
func (r *reader) rangeEnd(dst *string) {
	r.str(dst)
	if strings.IndexByte(*dst, '/') >= 0 {
		r.odd("a prefix where an address is due")
	}
}

// ranges fills in the prefixes of an IP network: the server's own, or if it has
// none or some of them are lost, those that make up its range.
func (r *reader) ranges(rec *Record, cidrs []cidr, whole bool) {
	if len(cidrs) > 0 {
		rec.CIDRs = make([]netip.Prefix, len(cidrs))
		for i, c := range cidrs {
			rec.CIDRs[i] = c.parse()
		}
		if whole {
			return
		}
	}
	if rec.StartAddress == "" || rec.EndAddress == "" {
		return
	}
	first, err1 := netip.ParseAddr(bareAddress(rec.StartAddress))
	last, err2 := netip.ParseAddr(bareAddress(rec.EndAddress))
	if err1 != nil || err2 != nil {
		r.lost("startAddress and endAddress are not both IP addresses")
		return
	}
	made := rangePrefixes(first, last)
	if made == nil {
		r.lost("startAddress and endAddress make no range")
		return
	}
	rec.CIDRs = made
}

// bareAddress takes off the prefix length that some servers add to the ends of
// a range.
func bareAddress(s string) string {
	s, _, _ = strings.Cut(s, "/")
	return strings.TrimSpace(s)
}

// rangePrefixes returns the fewest prefixes that make up the addresses from
// first to last, nil when that is no range. For IPv6 there are at most 254.
func rangePrefixes(first, last netip.Addr) []netip.Prefix {
	if first.BitLen() != last.BitLen() || last.Less(first) || first.Zone() != "" || last.Zone() != "" {
		return nil
	}
	var out []netip.Prefix
	for {
		// The largest block that begins at first and does not pass last.
		p := netip.PrefixFrom(first, first.BitLen())
		end := first
		for p.Bits() > 0 {
			wider := netip.PrefixFrom(first, p.Bits()-1)
			if wider.Masked().Addr() != first {
				break
			}
			widerEnd := lastAddr(wider)
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

// lastAddr returns the highest address of p.
func lastAddr(p netip.Prefix) netip.Addr {
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
