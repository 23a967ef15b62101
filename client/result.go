package client

import (
	"bytes"
	"net/http"
	"net/url"
	"time"

	"github.com/rdapq/rdapq/bootstrap"
	"github.com/rdapq/rdapq/internal/rdaplink"
	"github.com/rdapq/rdapq/pool"
	"github.com/rdapq/rdapq/rdap"
)

// A Verdict is the outcome of a [Query].
type Verdict string

// Verdicts. Only the first three are answers.
const (
	Registered  Verdict = "registered"   // the domain is registered
	Found       Verdict = "found"        // an object of another class, help, or search results
	NotFound    Verdict = "not_found"    // 404 from the authoritative server (RFC 7480 section 5.3)
	NoService   Verdict = "no_service"   // no RDAP server is known for it
	RateLimited Verdict = "rate_limited" // the server refused the request because of a rate limit
	Rejected    Verdict = "rejected"     // another 4xx, or 501
	Failed      Verdict = "failed"       // no usable response: transport, TLS, DNS, 5xx, not RDAP, too large
	Invalid     Verdict = "invalid"      // the input is not a query
)

// Answered reports whether the authoritative server answered the query: Registered, Found
// and NotFound.
func (v Verdict) Answered() bool { return v == Registered || v == Found || v == NotFound }

// A Result is the result of one query. Each query has exactly one.
type Result struct {
	Line     int64            // number of the input line, from 1; 0 for a single lookup
	Extra    []byte           // of the Input, unchanged
	Query    Query            // the query; only Text is set if Verdict is Invalid
	Verdict  Verdict          // the outcome
	Status   int              // HTTP status of the last response; 0 without one
	Server   string           // base URL of the server that the query was sent to
	Source   bootstrap.Source // how the server was found
	Entry    string           // the registry entry with the server: "com", "192.0.2.0/24"
	URL      string           // the URL of the first request, without keys
	FinalURL string           // the URL of the response, after redirects, without keys
	Time     time.Time        // when the result was complete
	Attempts int              // requests sent, without redirects
	Elapsed  time.Duration    // from the start of the lookup to its end, without time in queues
	Conn     pool.Trace       // the connection of the last request
	Header   http.Header      // of the last response; nil without one
	Raw      []byte           // the body as the server sent it, decompressed; nil without one. It may be replaced, but not written to
	Paging   *Paging          // of a search: its other pages; nil for other queries
	Desync   bool             // an HTTP/1.1 connection of the server returned responses to other requests: the query was sent again over a new one, or this is the first result after that was detected. Warnings has WarnDesync
	Warnings []Warning        // anything unusual
	Other    string           // the object of the response if it is not the queried one, such as after a redirect: a name, a network, AS numbers, or a class; empty otherwise
	Err      *Error           // why the query was not answered; nil for Registered and Found; for NotFound the server's text

	Registrar *Result   // the registrar's result for a domain; nil if it was not queried. The other fields are the registry's, whatever the registrar returns
	Related   []*Result // the results of the links of Config.Related
	Relation  Relation  // in an element of Related: its relation to the queried object
	Cached    bool      // Raw is from the cache. Conn shows whether it was revalidated at the server

	Shared     bool  // the response is that of an identical query in flight; Attempts, Elapsed and Conn are that query's
	SharedLine int64 // number of the input line that was sent; 0 outside a Batch, and if not Shared

	parsed      *rdap.Response // of parsedRaw; nil if that is not RDAP
	parsedRaw   []byte         // the Raw of the lookup: the user may replace the field
	namesObject bool           // the response names the queried object
	otherHandle string         // handle of the entity in the response, if it is not the queried one

	memoryOwner *task // the task charged for Raw in a batch; nil once the consumer has the result
}

// failure returns Err if the query was not answered. Its type is error, so that a nil
// *Error does not become a non-nil error.
func (r *Result) failure() error {
	if r.Err == nil || r.Verdict.Answered() {
		return nil
	}
	return r.Err
}

// fail sets the error and the verdict of its code.
func (r *Result) fail(e *Error) {
	r.Err, r.Verdict = e, verdictOf(e)
}

// Response returns the checked response in r.Raw: see [rdap.Parse]. Without a response it
// returns r.Err, or another error if that is nil.
func (r *Result) Response() (*rdap.Response, error) {
	if len(r.Raw) == 0 {
		return nil, r.noAnswer()
	}
	if r.parsed != nil && len(r.Raw) == len(r.parsedRaw) && &r.Raw[0] == &r.parsedRaw[0] {
		return r.parsed, nil
	}
	return rdap.Parse(r.Raw)
}

// parse parses r.Raw and keeps the result for Response.
func (r *Result) parse() (*rdap.Response, error) {
	resp, err := rdap.Parse(r.Raw)
	r.parsed, r.parsedRaw = resp, r.Raw
	return resp, err
}

// Record decodes the response in r.Raw: see [rdap.Read]. Each call decodes it again.
// Without a response it returns r.Err, or another error if that is nil.
func (r *Result) Record() (*rdap.Record, error) {
	resp, err := r.Response()
	if err != nil {
		return nil, err
	}
	return resp.Record(), nil
}

// Summary reads the summary of the response in r.Raw: see [rdap.Summarize]. It is zero if
// there is none. Each call decodes it again.
func (r *Result) Summary() rdap.Summary {
	resp, err := r.Response()
	if err != nil {
		return rdap.Summary{}
	}
	s, _ := resp.Summary()
	return s
}

func (r *Result) noAnswer() error {
	if r.Err != nil {
		return r.Err
	}
	return &rdap.FormatError{Reason: "an empty body"}
}

func withoutBOM(raw []byte) []byte { return bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf")) }

// warn adds a warning.
func (r *Result) warn(code WarningCode, message string) {
	r.Warnings = append(r.Warnings, Warning{code, message})
}

// decodeRecord returns the record of a response and the URL that it came from.
func (r *Result) decodeRecord() (base *url.URL, rec *rdap.Record) {
	base, err := url.Parse(r.FinalURL)
	if err != nil {
		return nil, nil
	}
	rec, err = r.Record()
	if err != nil {
		return nil, nil
	}
	return base, rec
}

// selfURLs returns all URLs of a record.
func (r *Result) selfURLs(rec *rdap.Record, base *url.URL) []*url.URL {
	list := append(rdaplink.Self(rec.Links, base), base)
	if u, err := url.Parse(r.URL); err == nil {
		list = append(list, u)
	}
	return list
}
