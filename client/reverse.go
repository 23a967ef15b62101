package client

import (
	"slices"
	"strings"

	"github.com/rdapq/rdapq/bootstrap"
	"github.com/rdapq/rdapq/internal/weburl"
	"github.com/rdapq/rdapq/rdap"
)

// checkReverseSearch refuses a reverse search that the server does not announce
// (RFC 9536 section 5): it would send somebody's address or name to a server that
// has no use for it.
func (q Query) checkReverseSearch(h *rdap.Help, server string) *Error {
	s := q.Search
	known := h.Reverses(string(q.Type), s.Reverse)
	refuse := func(what string) *Error {
		e := &Error{Code: CodeUnsupported, Message: visible(server) + " announces no reverse search for " + what}
		if len(known) > 0 {
			e.Hint = "it searches " + string(q.Type) + " by these of an " + s.Reverse + ": " + visible(strings.Join(known, ", "))
		} else if list := reverseSearches(h); list != "" {
			e.Hint = "it announces these: " + visible(list)
		}
		return e
	}
	if len(known) == 0 {
		return refuse(string(q.Type) + " by their " + s.Reverse)
	}
	for _, p := range s.Params {
		if !slices.Contains(known, p.Name) {
			return refuse(string(q.Type) + " by the " + visible(p.Name) + " of an " + s.Reverse)
		}
	}
	return nil
}

// reverseSearches lists all that a server announces: "domains by entity fn, ips by entity
// handle".
func reverseSearches(h *rdap.Help) string {
	if h == nil {
		return ""
	}
	list := make([]string, len(h.ReverseSearch))
	for i, p := range h.ReverseSearch {
		list[i] = p.Searchable + " by " + p.Related + " " + p.Property
	}
	return strings.Join(list, ", ")
}

// secured refuses to send a reverse search to a server without TLS, whatever is
// permitted otherwise: it bears personal data (RFC 9536 section 12).
func (q Query) requireTLS(server string) *Error {
	if q.Search == nil || q.Search.Reverse == "" || !isPlainHTTP(server) {
		return nil
	}
	return &Error{
		Code: CodeHTTPOnly, Server: weburl.Redact(server), Err: bootstrap.ErrHTTPOnly,
		Message: "a reverse search goes over https only, and " + visible(weburl.Redact(server)) + " speaks plain http",
	}
}
