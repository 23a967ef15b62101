package main

import (
	"hash/maphash"

	"github.com/rdapq/rdapq/client"
)

// seenQueries is the set of queries sent so far, by 64-bit hashes. The probability of a
// collision among ten million queries is 1 in 360,000.
type seenQueries struct {
	seed    maphash.Seed
	domains bool     // host names are reduced to registrable domains
	slots   []uint64 // open addressing; 0: free
	n       int
}

func newSeenQueries() *seenQueries {
	return &seenQueries{seed: maphash.MakeSeed(), slots: make([]uint64, 1<<10)}
}

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
	h := max(maphash.String(s.seed, q.Path()+"\n"+q.URL), 1)
	if s.n*4 >= len(s.slots)*3 {
		s.grow()
	}
	return s.put(h)
}

func (s *seenQueries) put(h uint64) bool {
	mask := uint64(len(s.slots) - 1)
	for i := h & mask; ; i = (i + 1) & mask {
		switch s.slots[i] {
		case h:
			return false
		case 0:
			s.slots[i] = h
			s.n++
			return true
		}
	}
}

func (s *seenQueries) grow() {
	old := s.slots
	s.slots, s.n = make([]uint64, 2*len(old)), 0
	for _, h := range old {
		if h != 0 {
			s.put(h)
		}
	}
}
