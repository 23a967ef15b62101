package pool

import "fmt"

// A Step is a part of connection set-up.
type Step string

const (
	StepQueue     Step = "queue"     // the request waited for a connection or a stream
	StepResolve   Step = "resolve"   // name resolution
	StepConnect   Step = "connect"   // TCP connection set-up
	StepProxy     Step = "proxy"     // connection through the proxy; the cause is a *ProxyError
	StepHandshake Step = "handshake" // TLS handshake
)

// An Error reports the step at which a request failed to get a connection. It wraps its cause:
// a *[net.OpError], *[net.DNSError], *[tls.CertificateVerificationError],
// [context.DeadlineExceeded] or the like, or several such errors if the host has several
// addresses.
type Error struct {
	Step   Step
	Origin string // origin, such as "https://rdap.example:8443"
	Err    error
}

func (e *Error) Error() string { return fmt.Sprintf("pool: %s: %s: %v", e.Origin, e.Step, e.Err) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Timeout reports whether the step took too long.
func (e *Error) Timeout() bool {
	t, ok := e.Err.(interface{ Timeout() bool })
	return ok && t.Timeout()
}
