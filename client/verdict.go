package client

import (
	"bytes"
	"cmp"
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rdapq/rdapq/bootstrap"
	"github.com/rdapq/rdapq/internal/content"
	"github.com/rdapq/rdapq/internal/dnsname"
	"github.com/rdapq/rdapq/internal/rdaplink"
	"github.com/rdapq/rdapq/internal/registrable"
	"github.com/rdapq/rdapq/internal/weburl"
	"github.com/rdapq/rdapq/rdap"
)

// judge sets the verdict of a response from its HTTP status and, for a success, its body.
// speaks is set if a server with that base URL has sent an RDAP response before.
func (r *Result) judge(a response, speaks bool) {
	if a.status/100 == 2 {
		r.judgeSuccess(a)
		return
	}
	resp, _ := r.parse()
	w := rdap.ReadErrorBody(a.raw)
	e := &Error{Title: w.Title, Detail: w.Description, RetryAfter: content.RetryAfter(a.retryAfter, time.Now())}
	var what string
	e.Code, what, e.Hint = r.classifyStatus(a.status, w, e.RetryAfter)
	if e.Code == CodeNoService {
		e.HintCode = HintServer
	}
	if e.Code == CodeNotFound && r.redirectedElsewhere(a, resp) {
		e.Code, what = CodeNotRDAP, "the response is not RDAP: a redirect led to "+visible(r.FinalURL)+", which returned"
	}
	if e.Code == CodeRateLimited && e.RetryAfter > 0 {
		e.Hint = "retry after " + shortSpan(e.RetryAfter.Round(time.Second))
	}
	refused := false
	if e.Code == CodeNotFound && !saysRDAP(a, resp) {
		what = r.judgeForeign404(e, what, a, speaks)
		refused = e.Code == CodeNotRDAP
	}
	r.explain(e, what, a, w)
	if r.refuse(e); refused {
		r.Verdict = VerdictRejected // the server works; only the base URL may be wrong
	}
	switch {
	case a.cut != "":
		r.warn(WarnErrorBody, "the body of the error is truncated: "+a.cut)
	case w.Broken:
		r.warn(WarnErrorBody, "the body of the error is not valid JSON")
	case w.Foreign:
		r.warn(WarnErrorBody, "the body of the error is not RDAP"+contentTypeNote(a.contentType))
	case w.Code != 0 && w.Code != a.status:
		r.warn(WarnErrorBody, "the body has errorCode "+strconv.Itoa(w.Code)+", but the HTTP status is "+strconv.Itoa(a.status)+"; the status is used")
	}
}

// classifyStatus returns the error code of a status (RFC 7480 section 5, RFC 9082 section
// 4.3), its description and a hint.
func (r *Result) classifyStatus(status int, w rdap.ErrorBody, wait time.Duration) (code Code, what, hint string) {
	switch {
	case r.noServiceForName(status, w):
		return CodeNoService, "no RDAP service known for " + visible(noServiceFor(r.Query)) + ", according to a redirect-only server", hintServer
	case status == http.StatusNotFound:
		return CodeNotFound, "not found", r.nameHint(false)
	case status == http.StatusTooManyRequests,
		(status == http.StatusForbidden || status == http.StatusUnprocessableEntity) && w.MentionsRateLimit(),
		status == http.StatusServiceUnavailable && wait > 0:
		return CodeRateLimited, "rate limited", "send fewer requests to this server"
	case status == http.StatusBadRequest:
		return CodeBadRequest, "the query was rejected", r.nameHint(true)
	case status == http.StatusUnauthorized:
		return CodeUnauthorized, "authentication required", ""
	case status == http.StatusForbidden:
		return CodeForbidden, "access denied", ""
	case status == http.StatusUnprocessableEntity, status == http.StatusNotImplemented:
		return CodeUnsupported, "the server does not support this query", ""
	case isConnectionStatus(status):
		return CodeServerError, "the server is temporarily unavailable", "try again later"
	case status/100 == 4:
		return CodeRejected, "the query was rejected", ""
	case status/100 == 5:
		return CodeServerError, "the server failed", "try again later"
	default:
		return CodeNotRDAP, "the response is not RDAP: HTTP status", ""
	}
}

// isConnectionStatus reports whether a status is about the connection of a request, not
// about the query (RFC 9110 sections 15.5.9 and 15.5.20, RFC 8470 section 5.2). Servers
// send 408 before they close an idle connection, possibly while a request is on its way.
func isConnectionStatus(status int) bool {
	return status == http.StatusRequestTimeout || status == http.StatusMisdirectedRequest || status == http.StatusTooEarly
}

// redirectedElsewhere reports whether a 404 is about another URL, such as a page of a web site,
// to which a redirect led. The response is then not RDAP.
func (r *Result) redirectedElsewhere(a response, resp *rdap.Response) bool {
	asked, err := url.Parse(r.URL)
	if err != nil || r.FinalURL == r.URL || resp != nil && resp.IsExact() {
		return false
	}
	path, _, _ := strings.Cut(r.Query.Path(), "?")
	if r.Query.URL != "" {
		path = asked.EscapedPath()[strings.LastIndexByte(asked.EscapedPath(), '/')+1:]
	}
	final := strings.ToLower(strings.TrimRight(a.url.EscapedPath(), "/"))
	return path == "" || !strings.HasSuffix(final, "/"+strings.ToLower(path))
}

// nameHint returns a hint for a name that a registry rejects or does not have. Registries have
// the names that they register, but no names below them.
func (r *Result) nameHint(refused bool) string {
	name := r.Query.Name
	if r.Query.Type != TypeDomain || r.Query.URL != "" || strings.HasSuffix(name, ".arpa") {
		return ""
	}
	if strings.Contains(name, "*") {
		return "to search, use domains?name=" + name
	}
	registered := registrable.Name(name)
	if _, parent, _ := strings.Cut(name, "."); registered == name && refused && strings.Contains(parent, ".") {
		registered = parent
	}
	if registered == name {
		return ""
	}
	return "if " + name + " is a host name, query the domain instead: " + registered
}

// judgeSuccess decides on a body that came with a 2xx status.
func (r *Result) judgeSuccess(a response) {
	resp, err := r.parse()
	var class string
	if err == nil {
		class, err = resp.Class()
	}
	empty := err == nil && class == rdap.ClassHelp && resp.HasConformance() && !resp.HasNotices() && r.Query.Type.IsSearch()
	if empty {
		r.warn(WarnErrorBody, "the response has no list of results; treated as 0 results")
	}
	if err == nil && (empty || r.answers(class)) {
		r.Verdict = VerdictFound
		if r.Query.Type == TypeDomain && class == rdap.ClassDomain {
			r.Verdict = VerdictRegistered
		}
		r.compare(resp, class, a)
		return
	}
	w := rdap.ReadErrorBody(a.raw)
	if err == nil && w.Code == http.StatusNotFound { // a truncated body may describe another object
		e := &Error{Title: w.Title, Detail: w.Description}
		var what string
		e.Code, what, e.Hint = r.classifyStatus(w.Code, w, 0)
		r.explain(e, what, response{status: w.Code, url: a.url}, w)
		r.refuse(e)
		r.warn(WarnErrorBody, "the body has errorCode 404, but the HTTP status is "+strconv.Itoa(a.status))
		return
	}
	why := "an object of the wrong class for this query"
	if broken, ok := errors.AsType[*rdap.FormatError](err); ok {
		why = broken.Reason
	} else if w.Code != 0 {
		why = "an error with errorCode " + strconv.Itoa(w.Code)
	}
	e := &Error{Code: CodeNotRDAP, Err: err, Title: w.Title, Detail: w.Description}
	e.Message = "the response is not RDAP: " + visible(r.FinalURL) + " returned " + statusText(a.status) + contentTypeNote(a.contentType) + ", " + visible(why)
	if text := w.Text(); text != "" && err == nil {
		e.Message += ": " + text
	}
	if err != nil && r.Source == bootstrap.SourceServer && r.Query.URL == "" {
		e.Hint = "check the base URL of the server: the part before " + visible(r.Query.Path())
	}
	r.locate(e)
	if w.Code != 0 {
		r.refuse(e)
		return
	}
	r.fail(e)
}

// answers reports whether an object of that class can answer the query. Notices alone answer
// only a help query, because busy servers send notices instead of an object. A list of results,
// even an empty one, does not answer a lookup.
func (r *Result) answers(class string) bool {
	switch class {
	case rdap.ClassError:
		return false
	case rdap.ClassHelp:
		return r.Query.Type == TypeHelp
	}
	return r.Query.Type.IsSearch() || !strings.HasSuffix(class, "SearchResults")
}

// compare compares the object in a response with the query, and warns of differences.
func (r *Result) compare(resp *rdap.Response, class string, a response) {
	if t := content.MediaType(a.contentType); t != "application/rdap+json" && t != "application/json" {
		r.warn(WarnMediaType, "the response is RDAP"+contentTypeNote(a.contentType))
	}
	if charset := content.ForeignCharset(a.contentType, a.raw); charset != "" {
		r.warn(WarnMediaType, "the response uses charset "+quote(charset)+", but JSON must be UTF-8: non-ASCII characters are lost")
	}
	if want, ok := classOfType[r.Query.Type]; ok && class != want && !r.Query.foundSingle(class) && !(class == rdap.ClassHelp && r.Query.Type.IsSearch()) {
		r.Other = "an object of class " + visible(class)
		r.warn(WarnOtherObject, "queried "+string(r.Query.Type)+", the response is of class "+quote(class))
		return
	}
	r.warnTruncations(resp)
	switch r.Query.Type {
	case TypeDomain, TypeNameserver:
	case TypeIP, TypeAutnum:
		r.compareExtent(resp)
		return
	case TypeEntity:
		r.compareHandle(resp)
		return
	default:
		return
	}
	if resp.HasLDHName(r.Query.Name) {
		r.namesObject = true
		return
	}
	ldh, unicode := resp.Names()
	if r.namesObject = rdaplink.SameName(r.Query.Name, ldh, unicode); r.namesObject {
		r.namesObject = ldh != "" || unicode != ""
	} else {
		r.namesObject = resp.HasVariant(func(s string) bool { return rdaplink.SameName(r.Query.Name, s, "") })
		r.Other = visible(dnsname.Display(cmp.Or(ldh, unicode)))
		r.warn(WarnOtherObject, "queried "+quote(r.Query.Name)+", but the response is about "+quote(cmp.Or(ldh, unicode)))
	}
}

// contentTypeNote describes the content type of a body, for the end of a clause.
func contentTypeNote(contentType string) string {
	if contentType == "" {
		return " without a content type"
	}
	return " labelled " + visible(contentType)
}

// warnTruncations adds a warning for each truncation that the response states.
func (r *Result) warnTruncations(resp *rdap.Response) {
	for _, t := range resp.Truncations() {
		if t.More > 0 {
			t.Path += " and " + strconv.Itoa(t.More) + " more"
		}
		r.warn(WarnTruncated, "the server reports: "+visible(t.Type)+" ("+t.Path+")")
	}
}

var classOfType = map[Type]string{
	TypeDomain: rdap.ClassDomain, TypeNameserver: rdap.ClassNameserver, TypeEntity: rdap.ClassEntity,
	TypeIP: rdap.ClassIPNetwork, TypeAutnum: rdap.ClassAutnum,
	TypeDomains: rdap.ClassDomainSearch, TypeNameservers: rdap.ClassNameserverSearch, TypeEntities: rdap.ClassEntitySearch,
	TypeIPs: rdap.ClassIPSearch, TypeAutnums: rdap.ClassAutnumSearch,
}

// explain composes the message from what, the status, the server, and the server's own text.
func (r *Result) explain(e *Error, what string, a response, w rdap.ErrorBody) {
	e.Message = what + " " + statusText(a.status) + " at " + visible(r.where(a))
	text := w.Text()
	if e.Code == CodeRateLimited && !w.Foreign {
		text = strings.Join(append(slices.DeleteFunc([]string{text}, func(s string) bool { return s == "" }), w.Notices...), "; ")
	}
	if text != "" {
		e.Message += ": " + visible(text)
	}
	r.locate(e)
}

// where returns the server that sent the response: the server of the query, or the target
// of its redirects.
func (r *Result) where(a response) string {
	if asked, err := url.Parse(r.Server); err == nil && asked.Scheme == a.url.Scheme && weburl.Host(asked) == weburl.Host(a.url) {
		return r.Server
	}
	return a.url.Scheme + "://" + a.url.Host + "/"
}

func (r *Result) locate(e *Error) { e.Server, e.URL, e.Status = r.Server, r.URL, r.Status }

// verdictOf returns the verdict for the code of an error.
func verdictOf(e *Error) Verdict {
	switch e.Code {
	case CodeInvalid:
		return VerdictInvalid
	case CodeNoService, CodeHTTPOnly:
		return VerdictNoService
	case CodeNotFound:
		return VerdictNotFound
	case CodeRateLimited:
		return VerdictRateLimited
	case CodeBadRequest, CodeUnauthorized, CodeForbidden, CodeRejected, CodeUnsupported:
		return VerdictRejected
	default:
		return VerdictFailed
	}
}

// noServiceForName reports whether a 404 is not about the object, because a redirector without
// a server for it has sent the 404. After a redirect, the authoritative server has sent the
// 404.
func (r *Result) noServiceForName(status int, w rdap.ErrorBody) bool {
	if status != http.StatusNotFound {
		return false
	}
	if rdaplink.IsRedirector(r.FinalURL) {
		return true
	}
	if saysNoService(w.Title) {
		return true
	}
	return slices.ContainsFunc(w.Description, saysNoService)
}

// saysNoService reports whether text states that there is no server, rather than no
// object.
func saysNoService(text string) bool {
	if !strings.Contains(text, "RDAP") && !strings.Contains(text, "rdap") {
		return false
	}
	text = strings.ToLower(text)
	return strings.Contains(text, "no rdap service") || strings.Contains(text, "no rdap server")
}

// compareExtent warns of a network that does not contain all of the queried network, or that is
// the whole address space. It also warns of a block of AS numbers. A larger network is a normal
// response (RFC 9082 section 3.1.1).
func (r *Result) compareExtent(resp *rdap.Response) {
	about := resp.Extent()
	switch r.Query.Type {
	case TypeIP:
		r.compareNetwork(about)
	case TypeAutnum:
		r.compareBlock(about)
	}
}

func (r *Result) compareNetwork(about rdap.Extent) {
	asked := r.Query.Prefix.Masked()
	first, last := about.First, about.Last
	if !first.IsValid() || !asked.IsValid() {
		return
	}
	whole := rangeText(first, last)
	from, to := asked.Addr(), rdap.LastAddr(asked)
	r.namesObject = first.BitLen() == from.BitLen() && !to.Less(first) && !last.Less(from)
	switch {
	case first.BitLen() != from.BitLen() || to.Less(first) || last.Less(from):
		r.Other = whole
		r.warn(WarnOtherObject, "queried "+r.Query.String()+", but the response is about "+whole)
	case from.Less(first) || last.Less(to):
		r.warn(WarnExtent, "the response is about "+whole+", which covers only a part of "+r.Query.String())
	case isEverything(first, last) && asked.Bits() > 0:
		version := "IPv4"
		if first.Is6() {
			version = "IPv6"
		}
		r.warn(WarnExtent, "the response is about "+whole+", which is all of "+version)
	}
}

// compareBlock warns of a block of AS numbers. For an unassigned number, some registries return
// the block that contains it, which is not a registration of the number.
func (r *Result) compareBlock(about rdap.Extent) {
	if about.FirstAutnum == nil || about.LastAutnum == nil {
		return
	}
	first, last, asked := *about.FirstAutnum, *about.LastAutnum, r.Query.Autnum
	block := "AS" + strconv.FormatUint(uint64(first), 10)
	if first != last {
		block += " – AS" + strconv.FormatUint(uint64(last), 10)
	}
	r.namesObject = first <= asked && asked <= last
	switch {
	case asked < first || last < asked:
		r.Other = block
		r.warn(WarnOtherObject, "queried "+r.Query.String()+", but the response is about "+block)
	case first != last:
		r.warn(WarnExtent, "the response is about "+block+", a block that contains "+r.Query.String())
	}
}

// rangeText returns the range as a prefix if possible.
func rangeText(first, last netip.Addr) string {
	if p := rdap.RangePrefixes(first, last); len(p) == 1 {
		return p[0].String()
	}
	return first.String() + " – " + last.String()
}

func isEverything(first, last netip.Addr) bool {
	return first.IsUnspecified() && netip.PrefixFrom(first, 0).Contains(last) && rdap.LastAddr(netip.PrefixFrom(first, 0)) == last
}

// warnForeign is the warning of a 404 that is not RDAP but is about the object. It begins
// with a stable word.
const warnForeign = "not_found_without_rdap: the response with status 404 is not RDAP"

// saysRDAP reports whether a response is RDAP by its body or media type.
func saysRDAP(a response, resp *rdap.Response) bool {
	raw := bytes.TrimSpace(withoutBOM(a.raw))
	if content.MediaType(a.contentType) == "application/rdap+json" && (len(raw) == 0 || raw[0] == '{') {
		return true
	}
	if resp == nil || !resp.IsExact() {
		return false
	}
	_, err := resp.Class()
	return err == nil || resp.HasConformance()
}

// judgeForeign404 decides what a 404 that is not RDAP means. A server that the user specified
// may have another base URL. Its 404 is therefore about the object only if the server has sent
// RDAP before. Other servers are authoritative for the object.
func (r *Result) judgeForeign404(e *Error, what string, a response, speaks bool) string {
	switch r.Source {
	case bootstrap.SourceServer, bootstrap.SourceOverride:
		if !speaks {
			e.Code = CodeNotRDAP
			e.Hint = "check the base URL: the server has not sent any RDAP response"
			return "the response is not RDAP"
		}
	case bootstrap.SourceIANA, bootstrap.SourceSnapshot:
		if len(a.raw) == 0 && a.cut == "" {
			return what // some registries send an empty body
		}
	}
	if len(a.raw) > 0 || a.cut != "" || !speaks {
		r.warn(WarnNotFoundWithoutRDAP, warnForeign)
		return "not found, in a response that is not RDAP"
	}
	return what
}

// IsNotFoundWithoutRDAP reports whether the verdict is VerdictNotFound because of a 404 that was
// not RDAP. Warnings then has WarnNotFoundWithoutRDAP.
func (r *Result) IsNotFoundWithoutRDAP() bool {
	return r.Verdict == VerdictNotFound && slices.ContainsFunc(r.Warnings, func(w Warning) bool { return w.Code == WarnNotFoundWithoutRDAP })
}

// compareHandle records whether the entity has the handle of the query.
func (r *Result) compareHandle(resp *rdap.Response) {
	handle := resp.Handle()
	if r.namesObject = handle != "" && strings.EqualFold(handle, r.Query.Name); !r.namesObject {
		r.otherHandle = handle
	}
}
