package render

import (
	"strings"

	"github.com/rdapq/rdapq/client"
)

// help writes what a server says about itself (RFC 9083 section 7).
func (p *page) help(r *client.Result, rec *client.Record) {
	p.verdict(r, "")
	if !p.opt.Verbose { // else the details have them
		for _, n := range rec.Notices {
			p.gap()
			p.notice("Notice", n)
		}
		p.gap()
		p.value("Conformance", strings.Join(rec.Conformance, " "))
	}
}
