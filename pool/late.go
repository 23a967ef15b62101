package pool

import "context"

type lateKey struct{}

// WithoutEarlyData returns a context for requests that must not go out as TLS
// early data (0-RTT), which whoever records it can send again: those that
// carry a credential where the Pool can't see it, in the query of the URL for
// instance. Header fields that look like credentials it sees by itself.
func WithoutEarlyData(ctx context.Context) context.Context {
	return context.WithValue(ctx, lateKey{}, true)
}
