package rdaptest

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// demoPage is the number of results per page of a demo server.
const demoPage = 25

// searches returns the searchable objects of a catalogue.
func (c *catalogue) searches() *Searches {
	s := &Searches{PageSize: demoPage}
	for _, name := range slices.Sorted(maps.Keys(c.domains)) {
		f := nameFacts("", name)
		r := f.registrar()
		s.Objects = append(s.Objects, Object{
			Class: "domain", Name: name, Created: string(f.append(nil, "created")),
			Nameservers: []string{"ns1." + r.slug + "-dns.example", "ns2." + r.slug + "-dns.example"},
			Entity:      Contact{Handle: r.id, FN: r.name, Email: "abuse@" + r.slug + ".example", Role: "registrar"},
		})
	}
	for _, p := range c.networks {
		s.Objects = append(s.Objects, Object{Class: "ip network", Name: "INVENTED-" + strings.NewReplacer(".", "-", ":", "-", "/", "-").Replace(p.String()), Prefix: p.String()})
	}
	for _, r := range c.autnums {
		s.Objects = append(s.Objects, Object{Class: "autnum", Name: "INVENTED-AS" + strconv.FormatUint(uint64(r[0]), 10), First: r[0], Last: r[1]})
	}
	if len(c.domains) > 0 {
		for _, r := range registrars {
			s.Objects = append(s.Objects, Object{Class: "entity", Entity: Contact{Handle: r.id, FN: r.name, Email: "abuse@" + r.slug + ".example", Role: "registrar"}})
		}
	}
	return s
}

// DemoSearches returns the objects of all servers of a [Demo], for a separate search
// server.
func DemoSearches() *Searches {
	all := &Searches{PageSize: demoPage}
	for _, site := range demoSites() {
		all.Objects = append(all.Objects, site.data.searches().Objects...)
	}
	return all
}
