package render

import (
	"github.com/rdapq/rdapq/client"

	"github.com/rdapq/rdapq/rdap"
)

// nameserver writes a nameserver (RFC 9083 section 5.2).
func (p *page) nameserver(r *client.Result, rec *rdap.Record) {
	p.verdict(r, "")
	p.blank()
	s := r.Summary()
	p.otherObject(r)
	p.unicodeName(r, rec)
	addresses := append(texts(rec.V4), texts(rec.V6)...)
	if len(addresses) == 0 {
		addresses = []line{{{notPublished, styleDim}}}
	}
	p.row("Addresses", addresses...)
	p.value("Handle", rec.Handle)
	if s.Registrar != "" {
		p.registrar(&s, rec.Entities)
	}
	p.statuses(rec.Status)
	p.events(rec.Events, nil)
	p.abuse(&s, rec.Entities, "")
	p.contacts(rec.Entities, rec.Redacted, []string{"registrar", "abuse"})
	p.remarks(rec.Remarks)
}
