package client

import (
	"bytes"
	"cmp"
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
	VerdictRegistered  Verdict = "registered"   // the domain is registered
	VerdictFound       Verdict = "found"        // an object of another class, help, or search results
	VerdictNotFound    Verdict = "not_found"    // the authoritative server returned 404 (RFC 7480 section 5.3)
	VerdictNoService   Verdict = "no_service"   // no RDAP server is known for the query
	VerdictRateLimited Verdict = "rate_limited" // the server refused the request because of a rate limit
	VerdictRejected    Verdict = "rejected"     // the server returned another 4xx, or 501
	// there was no usable response: transport, TLS, DNS, 5xx, not RDAP, too large
	VerdictFailed  Verdict = "failed"
	VerdictInvalid Verdict = "invalid" // the input is not a query
)

// Answered reports whether the verdict is VerdictRegistered, VerdictFound or VerdictNotFound, the
// answers of an authoritative server.
func (v Verdict) Answered() bool {
	return v == VerdictRegistered || v == VerdictFound || v == VerdictNotFound
}

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
	// time before the requests: for the limits of the servers, between attempts, and in the queue of
	// a Batch, but not in its temporary file; not part of Elapsed
	Waited time.Duration
	Conn   pool.Trace  // connection of the last request
	Header http.Header // header of the last response; nil if there was none
	// body as the server sent it, decompressed; nil without a response. Callers may replace
	// Raw, but not write to it
	Raw    []byte
	Paging *Paging // further pages of a search; nil for other queries
	// an HTTP/1.1 connection of the server returned responses to other requests. Either the
	// query was sent again over a new connection, or this is the first result after the
	// detection. Warnings has WarnDesync
	Desync   bool
	Warnings []Warning // unusual properties of the response
	// object of the response if the query was for another object, such as after a redirect: a
	// name, a network, AS numbers, or a class; otherwise empty
	Other string
	// error response of the server, also for VerdictNotFound; nil if the server sent none
	Refusal *Error
	// reason why there is neither an answer nor a Refusal, such as a failed connection;
	// otherwise nil
	Failure *Error

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

// Err returns why the query was not answered, an *[Error]: Failure or Refusal. Err returns nil
// exactly when Verdict.Answered is true. That includes VerdictNotFound, whose Refusal has the text of
// the server.
func (r *Result) Err() error {
	switch e := r.reason(); {
	case r.Verdict.Answered():
		return nil
	case e == nil:
		return &Error{Code: CodeInvalid, Message: "no query was sent for this result"}
	default:
		return e
	}
}

// reason returns Failure or Refusal, of which at most one is set. It returns nil if neither is
// set.
func (r *Result) reason() *Error { return cmp.Or(r.Failure, r.Refusal) }

// fail sets Failure and the verdict of its code.
func (r *Result) fail(e *Error) {
	r.Failure, r.Refusal, r.Verdict = e, nil, verdictOf(e)
}

// end sets Failure to the error of a caller that gave up. The code tells lookups without a
// request from those without a response.
func (r *Result) end(e *Error) {
	if !r.Sent() && !r.Shared {
		unsent(e)
	}
	r.fail(e)
}

func unsent(e *Error) *Error {
	e.Code = CodeNotSent
	return e
}

// Sent reports whether Attempts is not 0: at least one request was sent for the query, or a
// connection for the request was attempted. A lookup that ended before that was rejected by a
// limit of its server, a server that is down, the cache, the end of its context or Close.
func (r *Result) Sent() bool { return r.Attempts > 0 }

// addTimes adds the times of one stage of a search.
func (r *Result) addTimes(stage *Result) {
	r.Elapsed += stage.Elapsed
	r.Waited += stage.Waited
}

// refuse sets Refusal and the verdict of its code.
func (r *Result) refuse(e *Error) {
	r.Refusal, r.Failure, r.Verdict = e, nil, verdictOf(e)
}

// Response returns the checked response in r.Raw: see [rdap.Parse]. Without a response it
// returns the error of r.
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
// response it returns the error of r.
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
	if e := r.reason(); e != nil {
		return e
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
