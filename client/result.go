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

// Verdicts. Only the first three of them answer the query.
const (
	Registered  Verdict = "registered"   // the domain is registered
	Found       Verdict = "found"        // an object of another class, help, or search results
	NotFound    Verdict = "not_found"    // the authoritative server returned 404 (RFC 7480 section 5.3)
	NoService   Verdict = "no_service"   // no RDAP server is known for the query
	RateLimited Verdict = "rate_limited" // the server refused the request because of a rate limit
	Rejected    Verdict = "rejected"     // the server returned another 4xx, or 501
	// there was no usable response: transport, TLS, DNS, 5xx, not RDAP, too large
	Failed  Verdict = "failed"
	Invalid Verdict = "invalid" // the input is not a query
)

// Answered reports whether the authoritative server answered the query: the verdict is
// Registered, Found or NotFound.
func (v Verdict) Answered() bool { return v == Registered || v == Found || v == NotFound }

// A Result is the result of one query. Each query has exactly one Result.
type Result struct {
	Line     int64            // number of the input line, from 1; 0 for a single lookup
	Extra    []byte           // Input.Extra, unchanged
	Query    Query            // the query; only Text is set if Verdict is Invalid
	Verdict  Verdict          // the outcome
	Status   int              // HTTP status of the last response; 0 if there was none
	Server   string           // base URL of the queried server
	Source   bootstrap.Source // how the server was found
	Entry    string           // registry entry that lists the server: "com", "192.0.2.0/24"
	URL      string           // URL of the first request, without keys
	FinalURL string           // URL of the response, after redirects, without keys
	Time     time.Time        // when the result was complete
	Attempts int              // number of requests sent, without redirects
	Elapsed  time.Duration    // time from the start of the lookup to its end, without time in queues
	Conn     pool.Trace       // connection of the last request
	Header   http.Header      // header of the last response; nil if there was none
	// body as the server sent it, decompressed; nil without a response. Callers may replace
	// Raw, but not write to it
	Raw    []byte
	Paging *Paging // further pages of a search; nil for other queries
	// an HTTP/1.1 connection of the server returned responses to other requests. Either the
	// query was sent again over a new connection, or this is the first result after the
	// detection. Warnings has WarnDesync
	Desync   bool
	Warnings []Warning // anything unusual about the response
	// object of the response if the query was for another object, such as after a redirect: a
	// name, a network, AS numbers, or a class; otherwise empty
	Other string
	// why the query was not answered; nil for Registered and Found; for NotFound, the text of
	// the server
	Err *Error

	// registrar's result for a domain; nil if the registrar was not queried. It does not affect
	// the other fields
	Registrar *Result
	Related   []*Result // results of the links of Config.Related
	Relation  Relation  // in an element of Related: relation to the queried object
	Cached    bool      // Raw is from the cache; Conn shows whether the server confirmed Raw

	// the response is that of an identical query in flight; Attempts, Elapsed and Conn describe
	// that query
	Shared     bool
	SharedLine int64 // number of the input line of that query; 0 outside a Batch, and if not Shared

	parsed      *rdap.Response // parsed form of parsedRaw; nil if parsedRaw is not RDAP
	parsedRaw   []byte         // Raw as set by the lookup; the user may replace Raw
	namesObject bool           // the response names the queried object
	otherHandle string         // handle of the entity in the response, if it is not the queried handle

	memoryOwner *task // task charged for Raw in a batch; nil once the consumer has the result
}

// failure returns Err if the query was not answered. The return type is error, so that a nil
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
// returns an error: r.Err unless nil.
func (r *Result) Response() (*rdap.Response, error) {
	if len(r.Raw) == 0 {
		return nil, r.noAnswer()
	}
	if r.parsed != nil && len(r.Raw) == len(r.parsedRaw) && &r.Raw[0] == &r.parsedRaw[0] {
		return r.parsed, nil
	}
	return rdap.Parse(r.Raw)
}

// parse parses r.Raw and stores the result for Response.
func (r *Result) parse() (*rdap.Response, error) {
	resp, err := rdap.Parse(r.Raw)
	r.parsed, r.parsedRaw = resp, r.Raw
	return resp, err
}

// Record decodes the response in r.Raw: see [rdap.Read]. Each call decodes it again. Without a
// response it returns an error: r.Err unless nil.
func (r *Result) Record() (*rdap.Record, error) {
	resp, err := r.Response()
	if err != nil {
		return nil, err
	}
	return resp.Record(), nil
}

// Summary reads the summary of the response in r.Raw: see [rdap.Summarize]. Without a response
// it returns the zero Summary. Each call decodes it again.
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
