package client

import (
	"bytes"
	"net/http"
	"time"

	"github.com/rdapq/rdapq/bootstrap"
	"github.com/rdapq/rdapq/pool"
	"github.com/rdapq/rdapq/rdap"
)

// A Verdict says what came of a [Query].
type Verdict string

// Verdicts. Only the first three are answers.
const (
	Registered  Verdict = "registered"   // the domain is registered
	Found       Verdict = "found"        // the object of another class, help or a search was answered
	NotFound    Verdict = "not_found"    // 404 from the server responsible (RFC 7480 section 5.3)
	NoService   Verdict = "no_service"   // no RDAP server is known for it
	RateLimited Verdict = "rate_limited" // the server says: too many requests
	Rejected    Verdict = "rejected"     // another 4xx, or 501
	Failed      Verdict = "failed"       // no usable answer: transport, TLS, DNS, 5xx, not RDAP, too large
	Invalid     Verdict = "invalid"      // the input is not a query
)

// Answered reports whether the server responsible answered the question:
// Registered, Found and NotFound.
func (v Verdict) Answered() bool { return v == Registered || v == Found || v == NotFound }

// A Result is what came of one query. Exactly one Result comes of each.
type Result struct {
	Line     int64            // number of the input line, from 1; 0 for a single lookup
	Extra    []byte           // of the Input, as it was given
	Query    Query            // what was asked; only Text is set when Verdict is Invalid
	Verdict  Verdict          // what came of it
	Status   int              // HTTP status of the last response; 0 without one
	Server   string           // base URL of the server asked
	Source   bootstrap.Source // how that server was found
	Entry    string           // the registry entry that led there: "com", "192.0.2.0/24"
	URL      string           // the URL asked first, without keys
	FinalURL string           // the URL that answered, after redirects, without keys
	Time     time.Time        // when the answer was complete
	Attempts int              // requests made for it, redirects not counted
	Elapsed  time.Duration    // from the start of the lookup to its end, time in queues not counted
	Conn     pool.Trace       // how the last request was carried
	Header   http.Header      // of the last response; nil without one
	Raw      []byte           // the body as the server sent it, decompressed; nil without one. Replace it, but don't write to it
	Paging   *Paging          // of a search: its further pages; nil for other answers
	Desync   bool             // an HTTP/1.1 connection of the server brought responses that belong to other requests: the query was sent again over a new one, or this is the first result after that was found out. Warnings says so, too
	Warnings []Warning        // what was unusual
	Other    string           // what the answer is about if that is another object than was asked for, as after a redirect to its record: a name, a network, AS numbers, or a class; empty otherwise
	Err      *Error           // why there is no answer; nil for Registered, Found; the server's own words for the others

	Registrar *Result   // what the registrar of a domain said, if it was asked; nil otherwise. Whatever came of it, the rest of this Result is the registry's alone
	Related   []*Result // what was found by the links of Config.Related
	Relation  Relation  // of an element of Related: what it is to the object asked for
	Cached    bool      // Raw is from the cache. Conn tells whether the server was asked if it still holds

	Shared     bool  // the response is that of an identical query which was under way; Attempts, Elapsed and Conn are that query's
	SharedLine int64 // number of the input line whose response it is; 0 outside a Batch, and if not Shared

	parsed      *rdap.Response // of the Raw that the lookup got; nil if that is not RDAP
	parsedRaw   []byte         // that Raw: the field may be given another slice
	namesObject bool           // the response names what was asked for
	otherHandle string         // of an entity, if it is another one than was asked for

	memoryOwner *task // to which its batch accounts Raw; nil once the consumer has the result
}

// failure returns Err if the question was not answered. It returns the
// interface, so that a nil *Error never becomes an error that is not nil.
func (r *Result) failure() error {
	if r.Err == nil || r.Verdict.Answered() {
		return nil
	}
	return r.Err
}

// fail sets the error and the verdict that goes with its code.
func (r *Result) fail(e *Error) {
	r.Err, r.Verdict = e, verdictOf(e)
}

// Response returns the checked response in r.Raw: see [rdap.Parse]. Without a response
// the error is r.Err, or says that there is none.
func (r *Result) Response() (*rdap.Response, error) {
	if len(r.Raw) == 0 {
		return nil, r.noAnswer()
	}
	if r.parsed != nil && len(r.Raw) == len(r.parsedRaw) && &r.Raw[0] == &r.parsedRaw[0] {
		return r.parsed, nil
	}
	return rdap.Parse(r.Raw)
}

// parse checks r.Raw once for all who read it.
func (r *Result) parse() (*rdap.Response, error) {
	resp, err := rdap.Parse(r.Raw)
	r.parsed, r.parsedRaw = resp, r.Raw
	return resp, err
}

// Record decodes the response in r.Raw: see [rdap.Read]. It decodes anew with each
// call. Without a response the error is r.Err, or says that there is none.
func (r *Result) Record() (*rdap.Record, error) {
	resp, err := r.Response()
	if err != nil {
		return nil, err
	}
	return resp.Record(), nil
}

// Summary reads the summary of the response in r.Raw: see [rdap.Summarize]. It is zero
// when there is none. It decodes anew with each call.
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
