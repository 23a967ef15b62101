package client

import (
	"cmp"
	"iter"

	"github.com/rdapq/rdapq/rdap"
)

// Expand yields a Result for each object that a search found, with the object as
// the server sent it for Raw and a Query that names it; all else is that of the
// search, of which the first one has the warnings. Any other Result, and a search
// that found nothing, is yielded as it is.
func (r *Result) Expand() iter.Seq[*Result] {
	return func(yield func(*Result) bool) {
		if r.Paging == nil || r.Paging.Results == 0 {
			yield(r)
			return
		}
		first := true
		for raw := range r.rawObjects() {
			one := *r
			one.Raw, one.Paging, one.parsed = raw, nil, nil
			if !first {
				one.Warnings = nil
			}
			first = false
			one.Query = r.Query.nameOf(&one)
			if class, err := rdap.Classify(raw); err == nil && class == rdap.ClassDomain {
				one.Verdict = Registered
			}
			if !yield(&one) {
				return
			}
		}
		if first {
			yield(r) // none of its pages can be read
		}
	}
}

// rawObjects yields the objects of all pages.
func (r *Result) rawObjects() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		resp, err := r.Response()
		for i := 0; ; i++ {
			if err == nil {
				for raw := range resp.Objects() {
					if !yield(raw) {
						return
					}
				}
			}
			if i >= len(r.Paging.Pages) {
				return
			}
			resp, err = rdap.Parse(r.Paging.Pages[i].Raw)
		}
	}
}

// nameOf is the query that a search's object would be the answer to. It is for
// people and rows: nothing is asked.
func (q Query) nameOf(one *Result) Query {
	found := Query{Type: lookupType[q.Type], Text: q.Text, Server: q.Server}
	rec, err := one.Record()
	if err != nil {
		return found
	}
	text := cmp.Or(rdap.DisplayName(cmp.Or(rec.LDHName, rec.UnicodeName)), rec.Handle)
	switch {
	case found.Type == TypeIP && rec.StartAddress != "":
		text = rec.StartAddress
		if len(rec.CIDRs) > 0 {
			text = rec.CIDRs[0].String()
		}
	case found.Type == TypeAutnum && rec.StartAutnum != nil:
		text = Query{Type: TypeAutnum, Autnum: *rec.StartAutnum}.String()
	case text == "":
		text = rec.Name
	}
	if parsed, err := ParseAs(found.Type, text); err == nil {
		parsed.Server = q.Server
		return parsed
	}
	found.Text = text
	return found
}
