package client

import "time"

// An Error says why a query was not answered, or what the server said when it
// answered with an error. It wraps its cause.
type Error struct {
	Code       string        // stable word for programs, see the Code constants
	Message    string        // one line for people: what, where, and the server's own words
	Hint       string        // what to do next; may be empty
	Server     string        // base URL of the server asked; may be empty
	URL        string        // URL asked, without keys; may be empty
	Status     int           // HTTP status; 0 without a response
	Title      string        // the server's own title of the error (RFC 9083 section 6)
	Detail     []string      // the server's own description lines
	RetryAfter time.Duration // when the server said to come back; 0 when it did not
	Err        error         // the cause; may be nil
}

// Codes of an [Error].
const (
	CodeInvalid      = "invalid"       // the input is not a query
	CodeNoService    = "no_service"    // bootstrap knows no server
	CodeHTTPOnly     = "http_only"     // the only servers known speak plain http
	CodeNotFound     = "not_found"     // 404
	CodeRateLimited  = "rate_limited"  // 429, or another answer that means it
	CodeBadRequest   = "bad_request"   // 400
	CodeUnauthorized = "unauthorized"  // 401
	CodeForbidden    = "forbidden"     // 403
	CodeRejected     = "rejected"      // another 4xx
	CodeUnsupported  = "not_supported" // 422 and 501
	CodeServerError  = "server_error"  // another 5xx
	CodeNotRDAP      = "not_rdap"      // the answer is no RDAP object
	CodeTooLarge     = "too_large"     // the body is over the limit
	CodeTLS          = "tls"           // handshake or certificate
	CodeDNS          = "dns"           // the server's name does not resolve
	CodeRefused      = "refused"       // nobody listens there
	CodeTimeout      = "timeout"       // no answer in time
	CodeTransport    = "transport"     // another failure of the connection
	CodeRedirect     = "redirect"      // a loop, too many hops, or a hop that is not followed
	CodeCanceled     = "canceled"      // the caller gave up
)

func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }
