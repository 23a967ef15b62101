package main

import (
	"hash/maphash"

	"github.com/rdapq/rdapq/client"
)

// A seen remembers what was asked, by a hash of 64 bits each: among ten million
// queries, the chance that two are taken for the same is one in 360,000.
type seenQueries struct {
	seed    maphash.Seed
	domains bool     // of host names, the registrable domain is asked for
	slots   []uint64 // open addressing; 0: free
	n       int
}

func newSeenQueries() *seenQueries {
	return &seenQueries{seed: maphash.MakeSeed(), slots: make([]uint64, 1<<10)}
}

// add reports whether the query was not there before. What is no query never
// was: its row says what is wrong with it.
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
