package client

import (
	"net/netip"
	"strconv"
)

// compareExtent warns of a network that is not all of what was asked for, or
// that is everything, and of a block of AS numbers. A network that is wider than
// what was asked for is what RFC 9082 section 3.1.1 promises, and no warning.
func (r *Result) compareExtent() {
	about := r.extent()
	switch r.Query.Type {
	case TypeIP:
		r.compareNetwork(about)
	case TypeAutnum:
		r.compareBlock(about)
	}
}

func (r *Result) compareNetwork(about extent) {
	asked := r.Query.Prefix.Masked()
	first, last, ok := addressRange(about.startAddress, about.endAddress)
	if !ok || !asked.IsValid() {
		return
	}
	whole := rangeText(first, last)
	from, to := asked.Addr(), lastAddr(asked)
	r.named = first.BitLen() == from.BitLen() && !to.Less(first) && !last.Less(from)
	switch {
	case first.BitLen() != from.BitLen() || to.Less(first) || last.Less(from):
		r.Other = whole
		r.warn("asked for " + r.Query.String() + ", the answer is about " + whole)
	case from.Less(first) || last.Less(to):
		r.warn("the answer is about " + whole + ", which is not all of " + r.Query.String())
	case isEverything(first, last) && asked.Bits() > 0:
		version := "IPv4"
		if first.Is6() {
			version = "IPv6"
		}
		r.warn("the answer is about " + whole + ", which is all of " + version)
	}
}

// compareBlock: some registries answer with the block around a number that
// nobody holds, and that is no registration of the number.
func (r *Result) compareBlock(about extent) {
	if about.startAutnum == nil || about.endAutnum == nil {
		return
	}
	first, last, asked := *about.startAutnum, *about.endAutnum, r.Query.Autnum
	block := "AS" + strconv.FormatUint(uint64(first), 10)
	if first != last {
		block += " – AS" + strconv.FormatUint(uint64(last), 10)
	}
	r.named = first <= asked && asked <= last
	switch {
	case asked < first || last < asked:
		r.Other = block
		r.warn("asked for " + r.Query.String() + ", the answer is about " + block)
	case first != last:
		r.warn("the answer is about " + block + ", a block that " + r.Query.String() + " lies in")
	}
}

// rangeText returns the range as a prefix if it is one.
func rangeText(first, last netip.Addr) string {
	if p := rangePrefixes(first, last); len(p) == 1 {
		return p[0].String()
	}
	return first.String() + " – " + last.String()
}

func isEverything(first, last netip.Addr) bool {
	return first.IsUnspecified() && netip.PrefixFrom(first, 0).Contains(last) && lastAddr(netip.PrefixFrom(first, 0)) == last
}

// An extent is what an answer about numbers covers.
type extent struct {
	startAddress, endAddress string
	startAutnum, endAutnum   *uint32
}

// extent reads those members of the answer.
func (r *Result) extent() extent {
	var out extent
	doc, err := r.document()
	if err != nil {
		return out
	}
	walk := newReader(doc.object, "")
	if !walk.enterObject() {
		return out
	}
	for walk.next() {
		switch walk.member() {
		case "startAddress":
			walk.str(&out.startAddress)
		case "endAddress":
			walk.str(&out.endAddress)
		case "startAutnum":
			walk.number(&out.startAutnum)
		case "endAutnum":
			walk.number(&out.endAutnum)
		default:
			walk.skip()
		}
	}
	return out
}
