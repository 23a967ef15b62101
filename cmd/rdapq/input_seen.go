package main

import (
	"hash/maphash"
	"math"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/hashset"
)

// seenQueries holds the hashes of the queries sent so far.
type seenQueries struct {
	seed    maphash.Seed
	domains bool // host names are reduced to registrable domains
	hashes  hashset.Set
}

func newSeenQueries() *seenQueries { return &seenQueries{seed: maphash.MakeSeed()} }

// add adds a query and reports whether it is new. An invalid query is always new, so that
// it gets a row with its error.
func (s *seenQueries) add(in client.Input) bool {
	q, err := client.ParseAs(in.Type, in.Text)
	if err != nil {
		return true
	}
	if s.domains {
		q = q.Registrable()
	}
	isNew, _ := s.hashes.Add(maphash.String(s.seed, q.Path()+"\n"+q.URL), math.MaxInt)
	return isNew
}
