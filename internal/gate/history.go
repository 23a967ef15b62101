package gate

import "time"

// A history counts the accepted requests of a host without a known limit, with a
// resolution that falls with their age.
type history struct {
	epoch  time.Time
	pieces []piece // oldest piece first
}

// A piece counts requests together. Times are relative to epoch.
type piece struct {
	from, to time.Duration
	n        int
}

const (
	historyResolution = 2 * time.Millisecond
	historyFine       = 16 // minimum ratio of the age of a piece to its length
	maxPieces         = 256
)

func (h *history) add(at time.Time) {
	if h.epoch.IsZero() {
		h.epoch = at
	}
	t := at.Sub(h.epoch)
	if n := len(h.pieces); n > 0 {
		last := &h.pieces[n-1]
		t = max(t, last.to)
		if t-last.from < historyResolution {
			last.to = t
			last.n++
			return
		}
	}
	if len(h.pieces) == maxPieces {
		h.compact(t)
	}
	h.pieces = append(h.pieces, piece{t, t, 1})
}

// compact merges neighbours that are old enough. If too many pieces remain, it merges pairs of
// the older half.
func (h *history) compact(now time.Duration) {
	kept := h.pieces[:1]
	for _, p := range h.pieces[1:] {
		if last := &kept[len(kept)-1]; p.to-last.from <= (now-p.to)/historyFine {
			last.to = p.to
			last.n += p.n
		} else {
			kept = append(kept, p)
		}
	}
	h.pieces = kept
	if len(kept) <= maxPieces*3/4 {
		return
	}
	half := len(kept) / 2 &^ 1
	for i := range half / 2 {
		a, b := kept[2*i], kept[2*i+1]
		kept[i] = piece{a.from, b.to, a.n + b.n}
	}
	h.pieces = append(kept[:half/2], kept[half:]...)
}

// since returns how many requests were accepted at from and later.
func (h *history) since(from time.Time) (n int) {
	t := from.Sub(h.epoch)
	for i := len(h.pieces) - 1; i >= 0 && h.pieces[i].to >= t; i-- {
		n += h.pieces[i].n
	}
	return n
}

func (h *history) reset() { h.pieces = h.pieces[:0] }
