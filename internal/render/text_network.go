package render

import (
	"math/big"
	"net/netip"
	"strings"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/rdap"
)

// maxCIDRs limits the prefixes in text that is not verbose.
const maxCIDRs = 8

// network writes an IP network (RFC 9083 section 5.4), starting with its addresses,
// holder and abuse contact.
func (p *page) network(r *client.Result, rec *rdap.Record) {
	p.verdict(r, wider(r, rec))
	p.blank()
	s := r.Summary()
	p.otherNumbers(r)
	p.rangeOf(rec)
	p.holder(&s, rec.Entities)
	p.abuse(&s, rec.Entities, notPublished)
	p.blank()
	p.value("Name", rec.Name)
	p.value("Handle", rec.Handle)
	p.kind(rec.Type)
	p.value("Country", rec.Country)
	p.value("Parent", rec.ParentHandle)
	p.origins(rec.OriginAutnums)
	p.statuses(rec.Status)
	p.events(rec.Events, nil)
	p.geofeed(rec.Links)
	p.contacts(rec.Entities, rec.Redacted, []string{"abuse"})
	p.remarks(rec.Remarks)
}

// wider returns the network in the response if it contains more than the queried addresses (RFC
// 9082 section 3.1.1).
func wider(r *client.Result, rec *rdap.Record) string {
	queried := r.Query.Prefix.Masked()
	first, last, ok := rec.AddressRange()
	if !ok || r.Query.Type != client.TypeIP || !queried.IsValid() ||
		first.BitLen() != queried.Addr().BitLen() || queried.Addr().Less(first) || last.Less(lastAddr(queried)) {
		return ""
	}
	whole := between(first.String(), last.String())
	if len(rec.CIDRs) == 1 {
		if whole = rec.CIDRs[0].String(); rec.CIDRs[0] == queried {
			return ""
		}
	}
	if first == queried.Addr() && first == last {
		return ""
	}
	return ", in " + whole
}

// lastAddr returns the highest address of p.
func lastAddr(p netip.Prefix) netip.Addr {
	b := p.Addr().AsSlice()
	for i := p.Bits(); i < len(b)*8; i++ {
		b[i/8] |= 0x80 >> (i % 8)
	}
	last, _ := netip.AddrFromSlice(b) // the length is valid
	return last
}

// otherNumbers warns that a response does not cover all queried numbers.
func (p *page) otherNumbers(r *client.Result) {
	p.otherObject(r)
	for _, w := range r.Warnings {
		if w.Code == client.WarnExtent {
			p.row("Note", line{{w.Message, styleWarn}})
		}
	}
}

// origins writes the AS numbers that announce the network.
func (p *page) origins(list []uint32) {
	var names []string
	for _, n := range list[:min(len(list), maxOrigins)] {
		names = append(names, asNumber(n))
	}
	if len(list) > maxOrigins {
		names = append(names, "…")
	}
	p.value("Origin", strings.Join(names, ", "))
}

// maxOrigins limits the AS numbers that announce a network in text.
const maxOrigins = 20

// rangeOf writes the addresses of a network.
func (p *page) rangeOf(rec *rdap.Record) {
	if first, last, ok := rec.AddressRange(); ok {
		p.row("Range", text(between(spelling(rec.StartAddress, first), spelling(rec.EndAddress, last))))
	} else if rec.StartAddress != "" || rec.EndAddress != "" {
		l := text(between(rec.StartAddress, rec.EndAddress))
		if len(rec.CIDRs) == 0 {
			l = l.and(styleWarn, " (unrecognized)")
		}
		p.row("Range", l)
	}
	var prefixes []string
	for i, c := range rec.CIDRs {
		if i == maxCIDRs && !p.opt.Verbose && len(rec.CIDRs) > maxCIDRs+1 {
			prefixes = append(prefixes, "and "+count(len(rec.CIDRs)-i, "more"))
			prefixes[i] = strings.TrimSuffix(prefixes[i], "s")
			break
		}
		prefixes = append(prefixes, c.String())
	}
	if len(prefixes) > 0 {
		p.row("CIDR", text(strings.Join(prefixes, ", ")).note(size(rec.CIDRs)))
	}
}

// spelling returns addr as sent, if the server sent addr. Otherwise it returns the canonical
// form.
func spelling(sent string, addr netip.Addr) string {
	sent, _, _ = strings.Cut(sent, "/")
	sent = strings.TrimSpace(sent)
	if written, err := netip.ParseAddr(sent); err == nil && written == addr {
		return sent
	}
	return addr.String()
}

func between(first, last string) string {
	switch {
	case last == "" || first == last:
		return first
	case first == "":
		return last
	}
	return first + " – " + last
}

// size returns the number of addresses in the prefixes, up to the size of IPv4. Larger numbers
// add nothing to the prefixes.
func size(list []netip.Prefix) string {
	total := new(big.Int)
	for _, p := range list {
		if !p.IsValid() {
			return ""
		}
		total.Add(total, new(big.Int).Lsh(big.NewInt(1), uint(p.Addr().BitLen()-p.Bits())))
	}
	switch {
	case total.Sign() == 0:
		return ""
	case total.IsInt64() && total.Int64() == 1:
		return "1 address"
	case total.IsInt64() && total.Int64() <= 1<<32:
		return grouped(total.Int64()) + " addresses"
	}
	return ""
}

// holder writes the holder of a network or AS number.
func (p *page) holder(s *rdap.Summary, entities []rdap.Entity) {
	if s.Holder == "" {
		p.row("Holder", line{{notPublished, styleDim}})
		return
	}
	p.row("Holder", line{{p.nameIn(s.Holder, entities), styleBold}})
}

// geofeed writes the URL of the holder's geofeed (RFC 9877).
func (p *page) geofeed(links []rdap.Link) {
	for _, l := range links {
		if l.HasRel("geofeed") || strings.EqualFold(l.Type, "application/geofeed+csv") {
			p.value("Geofeed", l.Href)
		}
	}
}

// kindMeanings explains the types of allocation and assignment of the address
// registries: RIPE NCC and AFRINIC, APNIC, ARIN, LACNIC.
var kindMeanings = map[string]string{
	"allocated pa":           "allocated to an ISP (LIR) for assignment to customers",
	"allocated-by-rir":       "allocated directly by the registry",
	"allocated-by-lir":       "sub-allocated by an ISP (LIR)",
	"allocated portable":     "allocated by the registry, for assignment to customers",
	"allocated non-portable": "sub-allocated by an ISP (LIR)",
	"allocated":              "allocated directly by the registry",
	"allocation":             "allocated to an ISP (LIR) for assignment to customers",
	"allocated unspecified":  "allocated to a registry for further allocation",
	"assigned":               "in use by its holder",
	"assigned anycast":       "anycast: announced from several places",
	"assigned non-portable":  "assigned to a customer of an ISP",
	"assigned pa":            "assigned to a customer of an ISP",
	"assigned pi":            "provider-independent (PI) space",
	"assigned portable":      "provider-independent (PI) space",
	"assignment":             "in use by its holder",
	"direct allocation":      "allocated directly by the registry",
	"direct assignment":      "assigned by the registry, for the holder's own use",
	"iana-reserved":          "IANA special-purpose address space",
	"legacy":                 "legacy allocation, predates the RIRs",
	"reallocated":            "sub-allocated by an ISP, which may sub-allocate further",
	"reallocation":           "sub-allocated by an ISP, which may sub-allocate further",
	"reassigned":             "assigned to a customer of an ISP",
	"reassignment":           "assigned to a customer of an ISP",
	"sub-allocated pa":       "sub-allocated by an ISP (LIR)",
	"aggregated-by-lir":      "assigned to several customers of an ISP",
	"early-registration":     "legacy allocation, predates the RIRs",
}

// kind writes the type of registration.
func (p *page) kind(typ string) {
	if typ != "" {
		p.row("Type", text(typ).note(kindMeanings[strings.ToLower(strings.TrimSpace(typ))]))
	}
}
