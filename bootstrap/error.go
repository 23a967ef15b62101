package bootstrap

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// ErrNoService matches every [*NoServiceError].
var ErrNoService = errors.New("no RDAP service known")

// ErrHTTPOnly matches every [*HTTPOnlyError].
var ErrHTTPOnly = errors.New("RDAP service over plain http only")

// ErrInvalidQuestion is wrapped in the error for a [Question] whose subject is unknown, whose
// address is invalid, or whose name is not in A-labels.
var ErrInvalidQuestion = errors.New("invalid question")

// errNotMade is the error of a zero [Resolver].
var errNotMade = errors.New("bootstrap: zero Resolver: use New")

// A ConfigError means that a field of a [Config] has an invalid value.
type ConfigError struct {
	Field string // "Server", "BaseURL", "Overrides" or "Files"
	Err   error  // the problem; never nil
}

// Error returns the field and the problem.
func (e *ConfigError) Error() string { return "bootstrap: " + e.Field + ": " + e.Err.Error() }

// Unwrap returns the problem.
func (e *ConfigError) Unwrap() error { return e.Err }

// errOffline is the reason why a copy was not refreshed.
var errOffline = errors.New("offline mode")

// A NoServiceError means that no registry lists a server. The object may exist.
type NoServiceError struct {
	For       Subject   // kind of thing that the question is about
	Name      string    // object of the question: "alpha.zz", "192.0.2.0/24", "AS64495", "X-FOO"
	Looked    string    // key that was searched: ".zz", "192.0.2.0/24", "AS64495", "tag FOO"
	Registry  Registry  // registry that was searched
	Source    Source    // source of the searched copy of the registry
	Published time.Time // publication date of the searched copy; may be zero
	Fresh     bool      // the copy was downloaded or confirmed within its lifetime
	// time since IANA last confirmed the copy; for the snapshot, since the publication of its
	// newest registry
	Age time.Duration
	Err error // reason why an old copy could not be refreshed; nil for a fresh copy
}

// Error returns the searched key and the age of the copy.
func (e *NoServiceError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "no RDAP service known for %s", e.Looked)
	if e.Source == SourceSnapshot {
		fmt.Fprintf(&b, " by the built-in snapshot of IANA's %s registry", e.Registry)
	} else {
		fmt.Fprintf(&b, " by IANA's %s registry", e.Registry)
	}
	if !e.Published.IsZero() {
		fmt.Fprintf(&b, " of %s", e.Published.UTC().Format(time.DateOnly))
	}
	if !e.Fresh {
		fmt.Fprintf(&b, ", a copy %s old", age(e.Age))
		if e.Err != nil {
			fmt.Fprintf(&b, " (not refreshed: %v)", e.Err)
		}
	}
	return b.String()
}

// Is reports whether target is [ErrNoService].
func (e *NoServiceError) Is(target error) bool { return target == ErrNoService }

// Unwrap returns why the copy could not be refreshed.
func (e *NoServiceError) Unwrap() error { return e.Err }

// age returns a duration in the largest unit with a whole number.
func age(d time.Duration) string {
	const day = 24 * time.Hour
	count := func(n int64, unit string) string {
		if n == 1 {
			return "1 " + unit
		}
		return fmt.Sprintf("%d %ss", n, unit)
	}
	switch {
	case d >= day:
		return count(int64(d/day), "day")
	case d >= time.Hour:
		return count(int64(d/time.Hour), "hour")
	}
	return count(int64(max(d, 0)/time.Minute), "minute")
}

// An HTTPOnlyError means that a registry lists only plain http servers and
// [Config.AllowHTTP] is not set. An attacker on the path can read and change such
// responses.
type HTTPOnlyError struct {
	Looked string   // key that was searched: ".zz"
	Entry  string   // matching entry: "zz"
	URLs   []string // plain http base URLs, never empty
	Source Source   // where the URLs come from
}

// Error returns the refused server, and how to allow it.
func (e *HTTPOnlyError) Error() string {
	server := "it"
	if len(e.URLs) > 0 {
		server = e.URLs[0]
	}
	return fmt.Sprintf("the RDAP service for %s is plain http only: %s is not queried without AllowHTTP (--allow-http)", e.Looked, server)
}

// Is reports whether target is [ErrHTTPOnly].
func (e *HTTPOnlyError) Is(target error) bool { return target == ErrHTTPOnly }
