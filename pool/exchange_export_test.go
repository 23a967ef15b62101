package pool

import "time"

// SetDrainTime replaces the time for which bodies that are closed early are
// drained, in a Pool that has not been used yet.
func (p *Pool) SetDrainTime(d time.Duration) { p.drainTime = d }
