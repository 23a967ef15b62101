// Package unshared marks lookups that send a request of their own, for benchmarks:
// a Client otherwise joins identical lookups that run at the same time.
package unshared

import "context"

type key struct{}

// Context returns a context whose lookups join no other one.
func Context(ctx context.Context) context.Context { return context.WithValue(ctx, key{}, true) }

// Is reports whether ctx comes from [Context].
func Is(ctx context.Context) bool { return ctx.Value(key{}) != nil }
