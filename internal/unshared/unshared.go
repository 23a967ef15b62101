// Package unshared marks lookups that must send their own request. Benchmarks need them,
// because a Client joins concurrent identical lookups.
package unshared

import "context"

type key struct{}

// Context returns a context whose lookups do not join others.
func Context(ctx context.Context) context.Context { return context.WithValue(ctx, key{}, true) }

// Is reports whether ctx comes from [Context].
func Is(ctx context.Context) bool { return ctx.Value(key{}) != nil }
