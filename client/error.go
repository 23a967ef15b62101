package client

import (
	"context"
	"errors"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/rdapq/rdapq/internal/neterror"
	"github.com/rdapq/rdapq/internal/safetext"
	"github.com/rdapq/rdapq/internal/weburl"
)

// An Error describes why a query was not answered, or the error that the server sent. It
// wraps its cause, so that errors.Is finds context.Canceled, context.DeadlineExceeded and
// bootstrap.ErrNoService.
type Error struct {
	Code Code // stable, for programs
	// one line for people: the failure, its place, and the text of the server; safe to print
	Message    string
	Hint       string        // suggestion for the next step; may be empty
	HintCode   HintCode      // setting that the hint is about; usually empty
	Server     string        // base URL of the server; may be empty
	URL        string        // URL of the request, without keys; may be empty
	Status     int           // HTTP status; 0 without a response
	Title      string        // title of the error from the server (RFC 9083 section 6), unchanged
	Detail     []string      // description lines from the server, unchanged
	RetryAfter time.Duration // delay that the response requests; 0 if none
	Err        error         // the cause; may be nil
}

// A Code identifies a kind of [Error]. It is an error itself, so that errors.Is(err,
// client.CodeRateLimited) reports whether err is an *Error with that code. New codes may be
// added; none changes its meaning.
type Code string

// Error returns the code.
func (c Code) Error() string { return string(c) }

// Codes of an [Error].
const (
	CodeInvalid      Code = "invalid"       // the input is not a query
	CodeInput        Code = "input"         // the input could not be read
	CodeNoService    Code = "no_service"    // the bootstrap registries list no server
	CodeHTTPOnly     Code = "http_only"     // the only known servers use plain http
	CodeNotFound     Code = "not_found"     // status 404
	CodeRateLimited  Code = "rate_limited"  // status 429, or another response with that meaning
	CodeBadRequest   Code = "bad_request"   // status 400
	CodeUnauthorized Code = "unauthorized"  // status 401
	CodeForbidden    Code = "forbidden"     // status 403
	CodeRejected     Code = "rejected"      // another status 4xx
	CodeUnsupported  Code = "not_supported" // status 422 or 501
	CodeServerError  Code = "server_error"  // another status 5xx, or 408, 421 or 425
	CodeNotRDAP      Code = "not_rdap"      // the response is not RDAP
	CodeTooLarge     Code = "too_large"     // the body is over the limit
	CodeTLS          Code = "tls"           // the TLS handshake failed or the certificate is invalid
	CodeDNS          Code = "dns"           // the host name of the server does not resolve
	CodeRefused      Code = "refused"       // the server refused the connection
	CodeTimeout      Code = "timeout"       // no response in time
	CodeTransport    Code = "transport"     // the connection failed in another way
	CodeProxy        Code = "proxy"         // the proxy could not be reached, or refused the connection
	CodeNotPublic    Code = "not_public"    // a registry or a server referred to a private or local address
	CodeCredential   Code = "credential"    // Config.CredentialFor returned an error
	CodeRedirect     Code = "redirect"      // the redirects form a loop, are too many, or must not be followed
	CodeBootstrap    Code = "bootstrap"     // the server could not be determined; no_service does not apply
	CodeCanceled     Code = "canceled"      // the caller canceled the lookup, or closed the Client
	CodeNotSent      Code = "not_sent"      // the lookup ended, as canceled or timed out, before its first request
)

// A ConfigError means that a field of a [Config] has an invalid value.
type ConfigError struct {
	Field string // name of the field, such as "Credentials"
	Err   error  // what is invalid; never nil
}

// Error returns the field and the problem.
func (e *ConfigError) Error() string { return "client: " + e.Field + ": " + e.Err.Error() }

// Unwrap returns the problem.
func (e *ConfigError) Unwrap() error { return e.Err }

// errNotMade is the error of a zero [Client].
var errNotMade = errors.New("client: zero Client: make it with New")

// A HintCode names the setting that an [Error.Hint] is about, for programs that have their own
// name for the setting.
type HintCode string

// Codes of hints.
const (
	HintTimeout     HintCode = "timeout"     // allow more time: raise Config.Timeout, or the context's deadline
	HintMaxWait     HintCode = "max_wait"    // raise Config.MaxWait
	HintJobs        HintCode = "jobs"        // run fewer lookups at a time: lower Config.Jobs
	HintServer      HintCode = "server"      // set Query.Server
	HintEntity      HintCode = "entity"      // set Query.Server, or parse the query as TypeEntity
	HintAddress     HintCode = "address"     // parse the query as TypeIP
	HintCertificate HintCode = "certificate" // check the certificates that the transport trusts
)

// Error returns the message. It does not panic for a nil *Error, which `return r.Refusal`
// returns as a non-nil error.
func (e *Error) Error() string {
	if e == nil {
		return "no error"
	}
	return e.Message
}

// Unwrap returns the cause, or nil if there is none or e is nil.
func (e *Error) Unwrap() error {
	if e == nil {
		return nil
	}
	return e.Err
}

// Is reports whether target is the [Code] of e.
func (e *Error) Is(target error) bool {
	code, ok := target.(Code)
	return ok && e != nil && e.Code == code
}

// Retryable reports whether the same query may be answered later: the server limited requests
// or failed, the connection failed, or time ran out. Config.Attempts counts retries of these
// errors. If RetryAfter is not 0, the server asks for that delay.
func (e *Error) Retryable() bool {
	return e != nil && (e.Code == CodeRateLimited || e.transient())
}

// canceled reports whether the caller canceled the lookup, rather than that time ran out.
func (e *Error) canceled() bool {
	return e != nil && (e.Code == CodeCanceled || e.Code == CodeNotSent && !errors.Is(e, context.DeadlineExceeded))
}

// transient reports whether a request that failed like this may succeed later or over another
// connection. That is so if the connection failed, the time ran out, the response broke off, or
// the server or a gateway failed (RFC 9110 section 15.6).
func (e *Error) transient() bool {
	switch e.Code {
	case CodeTransport, CodeRefused, CodeTimeout:
		// Only a success needs its body.
		return e.Status == 0 || e.Status/100 == 2
	case CodeDNS:
		dns, ok := errors.AsType[*net.DNSError](e.Err)
		return !ok || !dns.IsNotFound
	case CodeProxy:
		return proxyMayRecover(e.Err)
	case CodeTLS:
		permanent, _ := neterror.TLS(e.Err, false)
		return permanent == ""
	case CodeServerError:
		return true
	}
	return false
}

// invalid returns the error of an input that is not a valid query. Secrets in URLs are
// omitted.
func invalid(text, what, hint string) *Error {
	if strings.Contains(text, "://") {
		text = weburl.Redact(text)
	}
	return &Error{Code: CodeInvalid, Message: quote(text) + ": " + what, Hint: hint}
}

// asError returns err, which a parser of this package returned, as an *Error.
func asError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return &Error{Code: CodeInvalid, Message: visible(err.Error()), Err: err}
}

func statusText(status int) string { return "(" + strconv.Itoa(status) + ")" }

// quote quotes untrusted text for a message.
func quote(s string) string { return safetext.Quote(s) }

// visible escapes untrusted text for a message, without quotes.
func visible(s string) string { return safetext.Visible(s) }

// A Warning describes something unusual about a result that is otherwise usable.
type Warning struct {
	Code    WarningCode
	Message string // one sentence for people; safe to print
}

// A WarningCode identifies a kind of warning. New codes may be added; no code changes its
// meaning.
type WarningCode string

// Codes of a [Warning].
const (
	// the query was read differently from its text, or its text is unusual: see [Parse]
	WarnQuery       WarningCode = "query"
	WarnOtherServer WarningCode = "other_server" // another server was queried because a server failed
	WarnDesync      WarningCode = "desync"       // see [Result.Desync]
	WarnOtherObject WarningCode = "other_object" // see [Result.Other]
	// the network or AS block overlaps the queried network or block, but is not equal to it
	WarnExtent    WarningCode = "extent"
	WarnTruncated WarningCode = "truncated" // the server reports that the response is incomplete (RFC 9083 section 10.2.1)
	// the media type or charset is not that of RDAP
	WarnMediaType           WarningCode = "media_type"
	WarnErrorBody           WarningCode = "error_body"             // the body of an error contradicts its status, is truncated, or is not RDAP
	WarnNotFoundWithoutRDAP WarningCode = "not_found_without_rdap" // see [Result.IsNotFoundWithoutRDAP]
	WarnIncomplete          WarningCode = "incomplete"             // there are more results of a search: see [Paging]
	WarnNotAnnounced        WarningCode = "not_announced"          // an option was omitted because the server does not announce it
	WarnNoLink              WarningCode = "no_link"                // the record has no link of Config.Related
	WarnLinksCut            WarningCode = "links_cut"              // related links were not followed to their end
	WarnRedacted            WarningCode = "redacted"               // a secret was replaced in the result
)

// String returns the message.
func (w Warning) String() string { return w.Message }

// shortSpan formats a duration without the zero parts of Duration.String.
func shortSpan(d time.Duration) string {
	s := d.String()
	if cut, ok := strings.CutSuffix(s, "m0s"); ok {
		s = cut + "m"
	}
	if cut, ok := strings.CutSuffix(s, "h0m"); ok {
		s = cut + "h"
	}
	return s
}
