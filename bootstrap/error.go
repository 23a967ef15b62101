package bootstrap

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// ErrNoService is what a [*NoServiceError] is.
var ErrNoService = errors.New("no RDAP service known")

// ErrHTTPOnly is what an [*HTTPOnlyError] is.
var ErrHTTPOnly = errors.New("RDAP service over plain http only")

// errOffline says why a copy was not refreshed.
var errOffline = errors.New("offline mode")

// A NoServiceError says that no registry names a server. That is no statement
// about the object: it may well exist.
type NoServiceError struct {
	Class     Class
	Name      string        // what the question was about: "alpha.zz", "192.0.2.0/24", "AS64495", "X-FOO"
	Looked    string        // what the registry was searched for: ".zz", "192.0.2.0/24", "AS64495", "tag FOO"
	Registry  Registry      // where it was searched for
	Source    Source        // where that copy of the registry came from
	Published time.Time     // publication date of that copy; may be zero
	Fresh     bool          // the copy was downloaded or confirmed within its lifetime
	Age       time.Duration // since IANA last confirmed the copy; for the snapshot, since the newest of its registries was published
	Err       error         // why an old copy could not be refreshed; nil for a fresh one
}

// Error says what was looked for and how old the copy is that lacks it.
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

// age writes a duration in the largest unit that gives a whole number.
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

// An HTTPOnlyError says that a registry names only plain http servers, which
// [Config.AllowHTTP] would have to allow: anybody on the way can read and
// change such answers.
type HTTPOnlyError struct {
	Looked string   // what was searched for: ".zz"
	Entry  string   // the entry that matched: "zz"
	URLs   []string // the plain http base URLs, never empty
	Source Source
}

// Error names the server that was refused, and how to allow it.
func (e *HTTPOnlyError) Error() string {
	server := "it"
	if len(e.URLs) > 0 {
		server = e.URLs[0]
	}
	return fmt.Sprintf("the RDAP service for %s is plain http only: %s is not queried without AllowHTTP (--allow-http)", e.Looked, server)
}

// Is reports whether target is [ErrHTTPOnly].
func (e *HTTPOnlyError) Is(target error) bool { return target == ErrHTTPOnly }
