package measure

import (
	"context"

	"github.com/rdapq/rdapq/client"
)

// Limits of a bench for servers on the network.
const (
	PoliteLookups = 20 // maximum lookups per server, unless the user overrides the limit
	PoliteRuns    = minRuns
)

// serverOf returns a key for the server of a query. The key is the base URL, or the query
// itself if the server is unknown.
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

// Polite returns a number of lookups per run and a number of runs with which no server gets
// more than PoliteLookups, including warm-ups. Both are 0 if there are too many modes.
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
