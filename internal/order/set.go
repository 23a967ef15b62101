package order

import "math/bits"

const (
	pageBits  = 1 << 16
	pageWords = pageBits / 64
)

// A Set is a set of line numbers. It takes one bit per line in ranges that it contains
// partly, and almost no memory for ranges that it contains completely. The zero value
// is empty. It never contains negative numbers.
type Set struct {
	pages map[int64]*page
	n     int64
}

type page struct {
	n     int
	words *[pageWords]uint64 // bits of the page; nil means that the set contains the complete page
}

// Add adds a line and reports whether the set did not contain it.
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

// Remove removes a line and reports whether the set contained it.
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

// Has reports whether the set contains a line.
func (s *Set) Has(line int64) bool {
	if line < 0 {
		return false
	}
	p := s.pages[line/pageBits]
	return p != nil && (p.words == nil || p.words[line%pageBits/64]&(1<<(line%64)) != 0)
}

// Len returns the number of lines in the set.
func (s *Set) Len() int64 { return s.n }

// Next returns the first line in the set between from and to, inclusive.
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
