// Package hashset implements a compact set of hashes.
package hashset

// A Set is a set of 64-bit hashes that uses little more than 8 bytes for each. The
// probability of a collision among ten million is 1 in 360,000. The zero value is empty.
type Set struct {
	slots []uint64 // hash table; 0 means empty
	n     int
}

// Add adds h if the set has fewer than limit elements. known is false if the set is full and
// does not contain h, which may have been added before.
func (s *Set) Add(h uint64, limit int) (isNew, known bool) {
	h = max(h, 1)
	if s.n >= len(s.slots)/4*3 && s.n < limit {
		old := s.slots
		s.slots = make([]uint64, max(2*len(old), 1<<10))
		for _, v := range old {
			if v != 0 {
				s.slots[s.slot(v)] = v
			}
		}
	}
	i := s.slot(h)
	switch {
	case s.slots[i] == h:
		return false, true
	case s.n >= limit:
		return true, false
	}
	s.slots[i] = h
	s.n++
	return true, true
}

// slot returns the index of h, or the index at which to add it.
func (s *Set) slot(h uint64) int {
	mask := uint64(len(s.slots) - 1)
	i := h & mask
	for s.slots[i] != 0 && s.slots[i] != h {
		i = (i + 1) & mask
	}
	return int(i)
}
