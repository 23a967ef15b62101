package client

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/rdapq/rdapq/internal/gate"
	"github.com/rdapq/rdapq/limit"
)

// A Progress describes the progress of the batches of a [Client].
type Progress struct {
	Read     int64 // inputs read
	Done     int64 // results returned or ready
	InFlight int64 // lookups in flight
	Queued   int64 // inputs that wait for their server, in memory and spilled
	Spilled  int64 // part of Queued in the temporary file

	Verdicts map[Verdict]int64 // number of Done by verdict
	Servers  []ServerProgress  // one per server that was sent a request, by name
}

// A ServerProgress is the progress at one server, or one group of hosts.
type ServerProgress struct {
	Server      string        // host, with its port if that is unusual, or name of the group
	Queued      int64         // inputs that wait for the server
	InFlight    int64         // requests in flight
	Limit       int           // maximum of InFlight; below InFlight for a while after it was lowered
	Lines       int64         // inputs read for the server
	Done        int64         // part of Lines with a result; single lookups are not counted
	Failed      int64         // part of Done without a useful response
	Took        time.Duration // moving average of the time of a request in a batch; zero if unknown
	Requests    int64         // completed requests, including retries and linked records
	ParkedUntil time.Time     // no request is sent until then; zero if not paused
	Dead        bool          // the server is down; requests are probes only
	Rate        limit.Rate    // rate limit; zero if none is known
	Refused     int64         // requests refused by a rate limit
	Held        HoldReason    // the latest reason for holding requests back; empty if there was none
}

func (p *Progress) add(t *tally) {
	p.Read += t.read.Load()
	for i, v := range verdicts {
		if n := t.verdicts[i].Load(); n > 0 {
			p.Verdicts[v] += n
			p.Done += n
		}
	}
}

// progress adds the counts of the queue.
func (q *queue) progress(p *Progress, byHost map[string]*ServerProgress) {
	q.mu.Lock()
	defer q.mu.Unlock()
	p.InFlight += int64(q.inFlight)
	p.Queued += q.waiting
	p.Spilled += q.spilledInputs
	for _, l := range q.byHost {
		if s := byHost[l.host.Name()]; s != nil {
			s.Queued += l.waiting()
			if l.requestTime > 0 {
				s.Took = time.Duration(l.requestTime * float64(time.Second))
			}
			if l.limit > 0 && l.inFlight > 0 {
				s.Limit = min(s.Limit, l.limit) // l.limit includes the capacity of the connections
			}
		}
	}
}

// verdicts lists all verdicts, in the order of the counts of a tally.
var verdicts = [...]Verdict{VerdictRegistered, VerdictFound, VerdictNotFound, VerdictNoService, VerdictRateLimited, VerdictRejected, VerdictFailed, VerdictInvalid}

// A tally counts the inputs and results of a batch.
type tally struct {
	read     atomic.Int64
	verdicts [len(verdicts)]atomic.Int64
}

func (t *tally) count(v Verdict) {
	if i := slices.Index(verdicts[:], v); i >= 0 {
		t.verdicts[i].Add(1)
	}
}

// A HoldReason is the reason why requests to a server are held back.
type HoldReason string

// Reasons to hold back requests to a server.
const (
	HoldLimit   HoldReason = "rate_limit" // requests exceeded a rate limit
	HoldOutage  HoldReason = "outage"     // the server fails, refuses connections or does not respond
	HoldBlocked HoldReason = "blocked"    // the server refuses every request with a response that is not RDAP
)

// A Hold reports that requests to a server are held back.
type Hold struct {
	Server string     // host, with its port if that is unusual, or name of the group
	Reason HoldReason // reason why the requests are held back
	Status int        // HTTP status of the response that caused the hold; 0 without a response
	Until  time.Time  // no request is sent until then
	Rate   limit.Rate // limit from now on; zero if none is known
}

var holdReasons = map[gate.Reason]HoldReason{gate.HeldLimit: HoldLimit, gate.HeldOutage: HoldOutage, gate.HeldBlocked: HoldBlocked}

// countLines counts n inputs for h that have the same result.
func countLines(h *gate.Host, n int64, v Verdict) {
	h.Lines.Done.Add(n)
	if !v.Answered() {
		h.Lines.Failed.Add(n)
	}
}

// serverProgress returns the state of h, without the counts of the queues.
func serverProgress(h *gate.Host, now time.Time) ServerProgress {
	s := h.Status(now)
	return ServerProgress{
		Server: h.Name(), InFlight: int64(s.InFlight), Limit: s.Limit, Requests: s.Requests, Refused: s.Refused,
		Dead: s.Dead, Rate: s.Rate, Held: holdReasons[s.Held], ParkedUntil: s.Until,
		Lines: h.Lines.Read.Load(), Done: h.Lines.Done.Load(), Failed: h.Lines.Failed.Load(),
	}
}
