package client

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rdapq/rdapq/bootstrap"
	"github.com/rdapq/rdapq/internal/dnsname"
	"github.com/rdapq/rdapq/internal/weburl"
	"github.com/rdapq/rdapq/rdap"
)

// judge sets the verdict of a response: the HTTP status decides, and where it
// says success the body has to be the answer.
// speaks reports whether the server with that base URL has sent an RDAP response.
func (r *Result) judge(a response, speaks bool) {
	if a.status/100 == 2 {
		r.judgeSuccess(a)
		return
	}
	resp, _ := r.parse()
	w := rdap.ReadErrorBody(a.raw)
	e := &Error{Title: w.Title, Detail: w.Description, RetryAfter: retryAfter(a.retryAfter, time.Now())}
	var what string
	e.Code, what, e.Hint = r.classifyStatus(a.status, w, e.RetryAfter)
	if e.Code == CodeNoService {
		e.HintCode = HintServer
	}
	if e.Code == CodeNotFound && r.redirectedElsewhere(a, resp) {
		e.Code, what = CodeNotRDAP, "the response is not RDAP: a redirect led to "+visible(r.FinalURL)+" and there to"
	}
	if e.Code == CodeRateLimited && e.RetryAfter > 0 {
		e.Hint = "the server says to come back in " + shortSpan(e.RetryAfter.Round(time.Second))
	}
	refused := false
	if e.Code == CodeNotFound && !saysRDAP(a, resp) {
		what = r.judgeForeign404(e, what, a, speaks)
		refused = e.Code == CodeNotRDAP
	}
	r.explain(e, what, a, w)
	if r.fail(e); refused {
		r.Verdict = Rejected // the server answered; only the base URL may be wrong
	}
	switch {
	case a.cut != "":
		r.warn(WarnErrorBody, "the body of the error is not whole: "+a.cut)
	case w.Broken:
		r.warn(WarnErrorBody, "the body of the error is broken JSON")
	case w.Foreign:
		r.warn(WarnErrorBody, "the body of the error is not RDAP"+contentTypeNote(a.contentType))
	case w.Code != 0 && w.Code != a.status:
		r.warn(WarnErrorBody, "the body says errorCode "+strconv.Itoa(w.Code)+", the HTTP status is "+strconv.Itoa(a.status)+" and counts")
	}
}

// refusal tells codes apart (RFC 7480 section 5, RFC 9082 section 4.3) and
// names each in words.
func (r *Result) classifyStatus(status int, w rdap.ErrorBody, wait time.Duration) (code, what, hint string) {
	switch {
	case r.noServiceForName(status, w):
		return CodeNoService, "no RDAP service known for " + visible(noServiceFor(r.Query)) + ", says a server that only sends on", hintServer
	case status == http.StatusNotFound:
		return CodeNotFound, "not found", r.nameHint(false)
	case status == http.StatusTooManyRequests,
		(status == http.StatusForbidden || status == http.StatusUnprocessableEntity) && w.MentionsRateLimit(),
		status == http.StatusServiceUnavailable && wait > 0:
		return CodeRateLimited, "rate limited", "ask this server less often"
	case status == http.StatusBadRequest:
		return CodeBadRequest, "the query was rejected", r.nameHint(true)
	case status == http.StatusUnauthorized:
		return CodeUnauthorized, "the server wants to know who asks", ""
	case status == http.StatusForbidden:
		return CodeForbidden, "the server refused", ""
	case status == http.StatusUnprocessableEntity, status == http.StatusNotImplemented:
		return CodeUnsupported, "the server does not support this query", ""
	case isConnectionStatus(status):
		return CodeServerError, "the server did not take the request", "try again later"
	case status/100 == 4:
		return CodeRejected, "the query was rejected", ""
	case status/100 == 5:
		return CodeServerError, "the server failed", "try again later"
	default:
		return CodeNotRDAP, "the response is not RDAP: HTTP status", ""
	}
}

// notTaken says of a status that it is about how a request came, not about what it
// asks (RFC 9110 sections 15.5.9 and 15.5.20, RFC 8470 section 5.2). Servers that
// close an idle connection say 408 on it, just as the next request may go out.
func isConnectionStatus(status int) bool {
	return status == http.StatusRequestTimeout || status == http.StatusMisdirectedRequest || status == http.StatusTooEarly
}

// strayed says of a 404 that it is not about the object: a redirect led to what is
// no URL of it, a page of a web site for instance, and who answered there does not
// speak RDAP.
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

// nameHint is what may be meant by a name that a registry refuses or does not
// know: registries know the names that they register, and none below those.
func (r *Result) nameHint(refused bool) string {
	name := r.Query.Name
	if r.Query.Type != TypeDomain || r.Query.URL != "" || strings.HasSuffix(name, ".arpa") {
		return ""
	}
	if strings.Contains(name, "*") {
		return "a search for such names is written domains?name=" + name
	}
	registered := registrableName(name)
	if _, parent, _ := strings.Cut(name, "."); registered == name && refused && strings.Contains(parent, ".") {
		registered = parent
	}
	if registered == name {
		return ""
	}
	return "if " + name + " is a host below a registered name, ask for that: " + registered
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
		r.warn(WarnErrorBody, "the response has no list of results: it counts as 0 results")
	}
	if err == nil && (empty || r.answers(class)) {
		r.Verdict = Found
		if r.Query.Type == TypeDomain && class == rdap.ClassDomain {
			r.Verdict = Registered
		}
		r.compare(resp, class, a)
		return
	}
	w := rdap.ReadErrorBody(a.raw)
	if err == nil && w.Code == http.StatusNotFound { // one that breaks off may not be what it begins as
		e := &Error{Title: w.Title, Detail: w.Description}
		var what string
		e.Code, what, e.Hint = r.classifyStatus(w.Code, w, 0)
		r.explain(e, what, response{status: w.Code, url: a.url}, w)
		r.fail(e)
		r.warn(WarnErrorBody, "the server says errorCode 404 in an answer with HTTP status "+strconv.Itoa(a.status))
		return
	}
	why := "an object that is no answer to this query"
	if broken, ok := errors.AsType[*rdap.FormatError](err); ok {
		why = broken.Reason
	} else if w.Code != 0 {
		why = "an error with errorCode " + strconv.Itoa(w.Code)
	}
	e := &Error{Code: CodeNotRDAP, Err: err, Title: w.Title, Detail: w.Description}
	e.Message = "the response is not RDAP: " + visible(r.FinalURL) + " gave " + statusText(a.status) + contentTypeNote(a.contentType) + ", " + visible(why)
	if text := w.Text(); text != "" && err == nil {
		e.Message += ": " + text
	}
	if err != nil && r.Source == bootstrap.SourceServer && r.Query.URL == "" {
		e.Hint = "check the base URL of the server: it is what stands before " + visible(r.Query.Path())
	}
	r.locate(e)
	r.fail(e)
}

// answers says whether an object of that class can answer the query. Notices
// alone are an answer to help only: servers send them in place of an object
// when they are busy. A list, which may be empty, says of no object that it is
// there.
func (r *Result) answers(class string) bool {
	switch class {
	case rdap.ClassError:
		return false
	case rdap.ClassHelp:
		return r.Query.Type == TypeHelp
	}
	return r.Query.Type.IsSearch() || !strings.HasSuffix(class, "SearchResults")
}

// compare warns where the answer is not about what was asked.
func (r *Result) compare(resp *rdap.Response, class string, a response) {
	if t := mediaType(a.contentType); t != "application/rdap+json" && t != "application/json" {
		r.warn(WarnMediaType, "the answer is RDAP"+contentTypeNote(a.contentType))
	}
	if charset := foreignCharset(a.contentType, a.raw); charset != "" {
		r.warn(WarnMediaType, "the answer is in the charset "+quote(charset)+", and JSON has to be in UTF-8: characters beyond ASCII are lost")
	}
	if want, ok := classOfType[r.Query.Type]; ok && class != want && !r.Query.foundSingle(class) && !(class == rdap.ClassHelp && r.Query.Type.IsSearch()) {
		r.Other = "an object of class " + visible(class)
		r.warn(WarnOtherObject, "asked for "+string(r.Query.Type)+", the answer is of class "+quote(class))
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
	if r.namesObject = sameName(r.Query.Name, ldh, unicode); r.namesObject {
		r.namesObject = ldh != "" || unicode != ""
	} else {
		r.namesObject = resp.HasVariant(func(s string) bool { return sameName(r.Query.Name, s, "") })
		r.Other = visible(rdap.DisplayName(cmp.Or(ldh, unicode)))
		r.warn(WarnOtherObject, "asked for "+quote(r.Query.Name)+", the answer is about "+quote(cmp.Or(ldh, unicode)))
	}
}

// warnTruncations adds a warning for each way in which the response is not whole.
func (r *Result) warnTruncations(resp *rdap.Response) {
	for _, t := range resp.Truncations() {
		if t.More > 0 {
			t.Path += " and " + strconv.Itoa(t.More) + " more"
		}
		r.warn(WarnTruncated, "the server says: "+visible(t.Type)+" ("+t.Path+")")
	}
}

var classOfType = map[Type]string{
	TypeDomain: rdap.ClassDomain, TypeNameserver: rdap.ClassNameserver, TypeEntity: rdap.ClassEntity,
	TypeIP: rdap.ClassIPNetwork, TypeAutnum: rdap.ClassAutnum,
	TypeDomains: rdap.ClassDomainSearch, TypeNameservers: rdap.ClassNameserverSearch, TypeEntities: rdap.ClassEntitySearch,
	TypeIPs: rdap.ClassIPSearch, TypeAutnums: rdap.ClassAutnumSearch,
}

// sameName compares the names that an answer bears with the one asked for. An
// answer without a name is given the benefit of the doubt.
func sameName(asked, ldh, unicode string) bool {
	if ldh == "" && unicode == "" {
		return true
	}
	if ldh != "" && unicode != "" && !rdap.IsUnicodeForm(unicode, ldh) {
		unicode = "" // which names another object
	}
	for _, name := range []string{ldh, unicode} {
		ascii, err := dnsname.ToASCII(name)
		if err == nil && name != "" && strings.TrimSuffix(ascii, ".") == strings.TrimSuffix(asked, ".") {
			return true
		}
	}
	return false
}

// explain puts the message together: what, status, where, and what the server
// itself said.
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

// where names the server that answered: the one asked, or where it sent us.
func (r *Result) where(a response) string {
	if asked, err := url.Parse(r.Server); err == nil && asked.Scheme == a.url.Scheme && weburl.Host(asked) == weburl.Host(a.url) {
		return r.Server
	}
	return a.url.Scheme + "://" + a.url.Host + "/"
}

func (r *Result) locate(e *Error) { e.Server, e.URL, e.Status = r.Server, r.URL, r.Status }

// verdictOf returns the verdict that goes with the code of an error.
func verdictOf(e *Error) Verdict {
	switch e.Code {
	case CodeInvalid:
		return Invalid
	case CodeNoService, CodeHTTPOnly:
		return NoService
	case CodeNotFound:
		return NotFound
	case CodeRateLimited:
		return RateLimited
	case CodeBadRequest, CodeUnauthorized, CodeForbidden, CodeRejected, CodeUnsupported:
		return Rejected
	default:
		return Failed
	}
}

// maxRetryAfter bounds what is believed of a Retry-After; a date centuries away
// would not fit a Duration.
const maxRetryAfter = 10 * 365 * 24 * time.Hour

// retryAfter reads the header of that name (RFC 9110 section 10.2.3): seconds
// or a date. 0 means that the server did not say, or nothing of use.
func retryAfter(value string, now time.Time) time.Duration {
	value = strings.TrimSpace(value)
	if seconds, err := strconv.ParseUint(value, 10, 63); err == nil {
		if seconds > uint64(maxRetryAfter/time.Second) {
			return maxRetryAfter
		}
		return time.Duration(seconds) * time.Second
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return min(max(at.Sub(now), 0), maxRetryAfter)
}
