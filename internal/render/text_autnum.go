package render

import (
	"strconv"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/rdap"
)

// autnum writes an AS number (RFC 9083 section 5.5) or the block that contains the number. For
// unassigned numbers servers send the block, which is not a registration of the number.
func (p *page) autnum(r *client.Result, rec *rdap.Record) {
	numbers, size := asRange(rec)
	if size > 1 {
		p.verdict(r, ", in a block of "+grouped(size))
	} else {
		p.verdict(r, "")
	}
	p.blank()
	s := r.Summary()
	if size > 1 {
		p.row("Block", text(numbers).note("this record covers the whole block, not only "+r.Query.String()))
	} else {
		p.value("AS number", numbers)
	}
	p.holder(&s, rec.Entities)
	p.abuse(&s, rec.Entities, notPublished)
	p.blank()
	p.value("Name", rec.Name)
	p.value("Handle", rec.Handle)
	p.kind(rec.Type)
	p.value("Country", rec.Country)
	p.statuses(rec.Status)
	p.events(rec.Events, nil)
	p.contacts(rec.Entities, rec.Redacted, []string{"abuse"})
	p.remarks(rec.Remarks)
}

// asRange returns the numbers of a response and their count, or 0 if unknown.
func asRange(rec *rdap.Record) (numbers string, size int64) {
	if rec.StartAutnum == nil && rec.EndAutnum == nil {
		return "", 0
	}
	first, last := rec.StartAutnum, rec.EndAutnum
	if first == nil {
		first = last
	}
	if last == nil {
		last = first
	}
	size = int64(*last) - int64(*first) + 1
	if size < 1 {
		size = 0
	}
	return between(asNumber(*first), asNumber(*last)), size
}

func asNumber(n uint32) string { return "AS" + strconv.FormatUint(uint64(n), 10) }
