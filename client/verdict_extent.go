package client

import (
	"net/netip"
	"strconv"

	"github.com/rdapq/rdapq/rdap"
)

// compareExtent warns of a network that is not all of what was asked for, or
// that is everything, and of a block of AS numbers. A network that is wider than
// what was asked for is what RFC 9082 section 3.1.1 promises, and no warning.
func (r *Result) compareExtent(resp *rdap.Response) {
	about := resp.Extent()
	switch r.Query.Type {
	case TypeIP:
		r.compareNetwork(about)
	case TypeAutnum:
		r.compareBlock(about)
	}
}

func (r *Result) compareNetwork(about rdap.Extent) {
	asked := r.Query.Prefix.Masked()
	first, last := about.First, about.Last
	if !first.IsValid() || !asked.IsValid() {
		return
	}
	whole := rangeText(first, last)
	from, to := asked.Addr(), rdap.LastAddr(asked)
	r.namesObject = first.BitLen() == from.BitLen() && !to.Less(first) && !last.Less(from)
	switch {
	case first.BitLen() != from.BitLen() || to.Less(first) || last.Less(from):
		r.Other = whole
		r.warn(WarnOtherObject, "asked for "+r.Query.String()+", the answer is about "+whole)
	case from.Less(first) || last.Less(to):
		r.warn(WarnExtent, "the answer is about "+whole+", which is not all of "+r.Query.String())
	case isEverything(first, last) && asked.Bits() > 0:
		version := "IPv4"
		if first.Is6() {
			version = "IPv6"
		}
		r.warn(WarnExtent, "the answer is about "+whole+", which is all of "+version)
	}
}

// compareBlock: some registries answer with the block around a number that
// nobody holds, and that is no registration of the number.
func (r *Result) compareBlock(about rdap.Extent) {
	if about.FirstAutnum == nil || about.LastAutnum == nil {
		return
	}
	first, last, asked := *about.FirstAutnum, *about.LastAutnum, r.Query.Autnum
	block := "AS" + strconv.FormatUint(uint64(first), 10)
	if first != last {
		block += " – AS" + strconv.FormatUint(uint64(last), 10)
	}
	r.namesObject = first <= asked && asked <= last
	switch {
	case asked < first || last < asked:
		r.Other = block
		r.warn(WarnOtherObject, "asked for "+r.Query.String()+", the answer is about "+block)
	case first != last:
		r.warn(WarnExtent, "the answer is about "+block+", a block that "+r.Query.String()+" lies in")
	}
}

// rangeText returns the range as a prefix if it is one.
func rangeText(first, last netip.Addr) string {
	if p := rdap.RangePrefixes(first, last); len(p) == 1 {
		return p[0].String()
	}
	return first.String() + " – " + last.String()
}

func isEverything(first, last netip.Addr) bool {
	return first.IsUnspecified() && netip.PrefixFrom(first, 0).Contains(last) && rdap.LastAddr(netip.PrefixFrom(first, 0)) == last
}
