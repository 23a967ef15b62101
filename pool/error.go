package pool

import (
	"errors"
	"fmt"
)

// A ConfigError means that a field of a [Config] has an invalid value, or contradicts another
// field.
type ConfigError struct {
	Field string // "Protocols", "Network", "LocalAddr" or "FastOpen"
	Err   error  // the problem; never nil
}

// Error returns the field and the problem.
func (e *ConfigError) Error() string { return "pool: " + e.Field + ": " + e.Err.Error() }

// Unwrap returns the problem.
func (e *ConfigError) Unwrap() error { return e.Err }

func configError(field, format string, a ...any) error {
	return &ConfigError{field, fmt.Errorf(format, a...)}
}

// errNotMade is the error of the methods of a zero [Pool].
var errNotMade = errors.New("pool: zero Pool: use New")

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
	Step   Step   // step that failed
	Origin string // origin, such as "https://rdap.example:8443"
	Err    error  // cause; never nil
}

// Error returns the origin, the step and the cause.
func (e *Error) Error() string { return fmt.Sprintf("pool: %s: %s: %v", e.Origin, e.Step, e.Err) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Timeout reports whether the step took too long.
func (e *Error) Timeout() bool {
	t, ok := e.Err.(interface{ Timeout() bool })
	return ok && t.Timeout()
}
