package bootstrap

import (
	"fmt"
	"time"
)

// An edition is an immutable copy of a registry with its source and age.
type edition struct {
	table     *table
	source    Source
	published time.Time // publication date stated in the file; may be zero
	fetched   time.Time // when IANA last confirmed the copy; zero for the snapshot
	expires   time.Time // when to revalidate the copy; zero means never
}

// fresh reports whether the copy is within its lifetime.
func (ed *edition) fresh(now time.Time) bool {
	if ed.source == SourceSnapshot {
		return false
	}
	if ed.expires.IsZero() {
		return true
	}
	// If the copy was fetched in the future, a clock was or is wrong.
	return now.Before(ed.expires) && !ed.fetched.After(now.Add(clockSkew))
}

// clockSkew is the tolerated difference between the clocks of processes that share a
// cache.
const clockSkew = 5 * time.Minute

// confirmedAt returns when the copy was last known to be current.
func (ed *edition) confirmedAt() time.Time {
	if ed.fetched.IsZero() {
		return ed.published
	}
	return ed.fetched
}

// newer returns the copy to answer from. It returns the snapshot if iana is nil, or is stale
// and was published earlier.
func newer(iana, snap *edition, now time.Time) *edition {
	switch {
	case iana == nil:
		return snap
	case snap == nil || iana.fresh(now) || !snap.published.After(iana.published):
		return iana
	}
	return snap
}

// checkShrunk returns an error if a file lost more than half of its entries, which is an
// accident and not a change of the registry. Files with fewer than four entries may change
// freely.
func checkShrunk(old, now *table) error {
	const handful = 4
	if old.entries >= handful && 2*now.entries < old.entries {
		return fmt.Errorf("%d entries, but the previous copy had %d", now.entries, old.entries)
	}
	return nil
}
