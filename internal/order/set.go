package order

import "math/bits"

const (
	pageBits  = 1 << 16
	pageWords = pageBits / 64
)

// A Set is a set of line numbers. It takes a bit for each line of the spans in
// which some are in it and some are not, and next to nothing for spans that are
// in it as a whole. The zero value is empty; negative numbers are never in it.
type Set struct {
	pages map[int64]*page
	n     int64
}

type page struct {
	n     int
	words *[pageWords]uint64 // nil: all are in it
}

// Add puts a line into the set and reports whether it was not there before.
func (s *Set) Add(line int64) bool {
	if line < 0 {
		return false
	}
	p := s.pages[line/pageBits]
	if p == nil {
		p = &page{words: new([pageWords]uint64)}
		if s.pages == nil {
			s.pages = make(map[int64]*page)
		}
		s.pages[line/pageBits] = p
	}
	word, bit := line%pageBits/64, uint64(1)<<(line%64)
	if p.words == nil || p.words[word]&bit != 0 {
		return false
	}
	p.words[word] |= bit
	s.n++
	if p.n++; p.n == pageBits {
		p.words = nil
	}
	return true
}

// Remove takes a line out of the set and reports whether it was there.
func (s *Set) Remove(line int64) bool {
	if !s.Has(line) {
		return false
	}
	p := s.pages[line/pageBits]
	if p.words == nil {
		p.words = new([pageWords]uint64)
		for i := range p.words {
			p.words[i] = ^uint64(0)
		}
	}
	p.words[line%pageBits/64] &^= 1 << (line % 64)
	s.n--
	if p.n--; p.n == 0 {
		delete(s.pages, line/pageBits)
	}
	return true
}

// Has reports whether a line is in the set.
func (s *Set) Has(line int64) bool {
	if line < 0 {
		return false
	}
	p := s.pages[line/pageBits]
	return p != nil && (p.words == nil || p.words[line%pageBits/64]&(1<<(line%64)) != 0)
}

// Len returns how many lines are in the set.
func (s *Set) Len() int64 { return s.n }

// Next returns the first line in the set from `from` to `to`, both included.
func (s *Set) Next(from, to int64) (line int64, ok bool) {
	for line = max(from, 0); line <= to; {
		p := s.pages[line/pageBits]
		if p == nil {
			line = (line/pageBits + 1) * pageBits
			continue
		}
		if p.words == nil {
			return line, true
		}
		word := p.words[line%pageBits/64] >> (line % 64)
		if word != 0 {
			line += int64(bits.TrailingZeros64(word))
			return line, line <= to
		}
		line = (line/64 + 1) * 64
	}
	return 0, false
}
