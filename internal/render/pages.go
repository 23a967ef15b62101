package render

import (
	"github.com/rdapq/rdapq/client"

	"github.com/rdapq/rdapq/internal/weburl"
	"github.com/rdapq/rdapq/rdap"
)

// pages appends the rest of a search. "paging" describes how far the search was read, and
// "more_pages" has the pages after the first as sent.
func (o *object) pages(r *client.Result) {
	if r.Paging == nil {
		return
	}
	o.key("paging")
	o.dst = appendPaging(o.dst, r.Paging)
	if len(r.Paging.Pages) > 0 {
		o.key("more_pages")
		o.dst = appendPages(o.dst, r.Paging)
	}
}

// appendPaging appends results (on all pages read), total (the server's count, if sent), pages,
// and complete. If complete is false, it also appends stopped (the reason) and next (the URL of
// the next page).
func appendPaging(dst []byte, p *client.Paging) []byte {
	o := object{dst: append(dst, '{')}
	o.key("results") // present even if 0
	o.dst = appendInt(o.dst, int64(p.Results))
	o.integer("total", int64(p.Total))
	o.integer("pages", int64(1+len(p.Pages)))
	o.key("complete")
	if p.Complete {
		o.dst = append(o.dst, "true"...)
	} else {
		o.dst = append(o.dst, "false"...)
	}
	o.str("stopped", p.Stopped)
	o.str("next", weburl.Redact(p.Next))
	return append(o.dst, '}')
}

// appendPages appends the array of the pages after the first page. A page that is not JSON
// becomes null, so that the other pages keep their positions.
func appendPages(dst []byte, p *client.Paging) []byte {
	dst = append(dst, '[')
	for i := range p.Pages {
		if i > 0 {
			dst = append(dst, ',')
		}
		mark := len(dst)
		out, _, err := rdap.Compact(dst, p.Pages[i].Raw)
		if dst = out; err != nil {
			dst = append(dst[:mark], "null"...)
		}
	}
	return append(dst, ']')
}

// eachPage calls f for r and for each further page of a search. It passes a page as a result
// with that page as response.
func eachPage(r *client.Result, f func(*client.Result)) {
	f(r)
	if r.Paging == nil {
		return
	}
	for i := range r.Paging.Pages {
		page := *r
		page.Raw, page.Paging = r.Paging.Pages[i].Raw, nil
		f(&page)
	}
}
