package bootstrap

import (
	"fmt"
	"time"
)

// An edition is one immutable copy of a registry and what is known of its age.
type edition struct {
	table     *table
	source    Source
	published time.Time // what the file says of itself; may be zero
	fetched   time.Time // when IANA last confirmed it; zero for the snapshot
	expires   time.Time // when it is to be confirmed again; zero: never
}

// fresh tells whether the copy still counts as what IANA says.
func (ed *edition) fresh(now time.Time) bool {
	if ed.source == SourceSnapshot {
		return false
	}
	if ed.expires.IsZero() {
		return true
	}
	// A fetch in the future means that a clock was wrong then or is now.
	return now.Before(ed.expires) && !ed.fetched.After(now.Add(clockSkew))
}

// clockSkew is by how much the clocks of processes that share a cache may
// differ.
const clockSkew = 5 * time.Minute

// since is the time up to which the copy is known to be right.
func (ed *edition) since() time.Time {
	if ed.fetched.IsZero() {
		return ed.published
	}
	return ed.fetched
}

// newer picks the copy to answer from: the snapshot only where it was
// published later than what IANA sent once and has not confirmed since.
func newer(iana, snap *edition, now time.Time) *edition {
	switch {
	case iana == nil:
		return snap
	case snap == nil || iana.fresh(now) || !snap.published.After(iana.published):
		return iana
	}
	return snap
}

// checkShrunk refuses a file that lost more than half of its entries: that is
// an accident at the source or on the way, not a change of the registry. A
// handful of entries may change as they like.
func checkShrunk(old, now *table) error {
	const handful = 4
	if old.entries >= handful && 2*now.entries < old.entries {
		return fmt.Errorf("%d entries, but the previous copy had %d", now.entries, old.entries)
	}
	return nil
}
