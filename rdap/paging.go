package rdap

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// A PageInfo is the paging metadata of one page of search results (RFC 8977).
type PageInfo struct {
	IsList  bool   // the page has an array of results, or is a response that names no object
	Results int    // number of objects on the page
	Total   int    // number of objects on all pages, as the server reports; 0 if unknown
	Next    string // URL of the next page, as sent; empty if there is none
}

// Paging reads the paging metadata of search results and counts the results on the page.
func (r *Response) Paging() PageInfo {
	var p PageInfo
	var meta, top []Link
	hasMeta, isObject, conforms := false, false, false
	walk := newReader(r.object, "")
	if !walk.enterObject() {
		return p
	}
	for walk.next() {
		switch name := memberName(walk.name()); {
		case name == "paging_metadata" && walk.peek() == jsontext.KindBeginObject:
			hasMeta = true
			meta = readPagingMetadata(walk, &p)
		case name == "links":
			walk.links(&top)
		case strings.HasSuffix(name, "SearchResults"):
			p.IsList = true
			for l := walk.list().charging(0); l.more(walk); p.Results++ {
				walk.skip()
			}
		case name == "rdapConformance":
			conforms = true
			walk.skip()
		case name == "objectClassName":
			isObject = true
			walk.skip()
		default:
			walk.skip()
		}
	}
	p.IsList = p.IsList || conforms && !isObject
	if !hasMeta {
		meta = top // some servers put the link outside the metadata
	}
	for _, l := range meta {
		if l.HasRel("next") && l.Href != "" && (l.Type == "" || strings.Contains(l.Type, "json")) {
			p.Next = l.Href
			break
		}
	}
	return p
}

func readPagingMetadata(r *reader, p *PageInfo) (links []Link) {
	r.token()
	for r.next() {
		switch r.name() {
		case "totalCount":
			var n *uint32
			r.number(&n)
			if n != nil {
				p.Total = int(*n)
			}
		case "links":
			r.links(&links)
		default:
			r.skip()
		}
	}
	return links
}
