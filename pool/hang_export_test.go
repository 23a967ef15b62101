package pool

import "time"

// TrustWindows lets net/http see the WINDOW_UPDATE frames that make it take the
// lock of its connection twice.
func (p *Pool) TrustWindows() { p.dialer.trustWindows = true }

// AbandonTime is what it takes, at most, to find out that net/http does not
// return.
const AbandonTime time.Duration = doubtAfter + lockTime
