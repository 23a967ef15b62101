package measure

import (
	"context"

	"github.com/rdapq/rdapq/client"
)

// Politeness towards servers that are somebody's.
const (
	PoliteLookups = 20 // that a server gets of a bench at most, unless the user says otherwise
	PoliteRuns    = minRuns
)

// serverOf returns what tells the server of a query from others: the base URL,
// or the query itself where none is known.
func serverOf(ctx context.Context, r client.Resolver, q client.Query) string {
	if q.Server != "" {
		return q.Server
	}
	if question, ok := q.Question(); ok {
		if a, err := r.Resolve(ctx, question); err == nil && len(a.URLs) > 0 {
			return a.URLs[0]
		}
	}
	return "? " + q.String()
}

// warmUp returns one query for each server.
func warmUp(ctx context.Context, r client.Resolver, queries []client.Query) []client.Query {
	var out []client.Query
	seen := make(map[string]bool)
	for _, q := range queries {
		if s := serverOf(ctx, r, q); !seen[s] {
			seen[s] = true
			out = append(out, q)
		}
	}
	return out
}

// Polite returns how many lookups a run may have, and how many runs there may
// be, for no server to get more than PoliteLookups, warm-ups included. They are
// 0 if there are too many modes for that.
func Polite(ctx context.Context, r client.Resolver, queries []client.Query, modes int) (lookups, runs int) {
	servers := make([]string, len(queries))
	for i, q := range queries {
		servers[i] = serverOf(ctx, r, q)
	}
	for runs = PoliteRuns; runs > 0; runs-- {
		for lookups = PoliteLookups; lookups > 0; lookups-- {
			each := make(map[string]int)
			most := 0
			for i := range lookups {
				s := servers[i%len(servers)]
				each[s]++
				most = max(most, each[s])
			}
			if modes*(1+runs*most) <= PoliteLookups {
				return lookups, runs
			}
		}
	}
	return 0, 0
}
