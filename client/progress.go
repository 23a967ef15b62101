package client

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rdapq/rdapq/internal/gate"
	"github.com/rdapq/rdapq/limit"
)

// A Progress is where the batches of a [Client] stand.
type Progress struct {
	Read     int64 // inputs taken
	Done     int64 // results handed out or ready to be
	InFlight int64 // lookups under way
	Queued   int64 // inputs that wait for their server, in memory and spilled
	Spilled  int64 // of them, those in the temporary file

	Verdicts map[Verdict]int64 // of Done
	Servers  []ServerProgress  // one for each server that was asked, by name
}

// A ServerProgress is where one server, or one group of hosts, stands.
type ServerProgress struct {
	Server      string        // host, with its port if that is unusual, or name of the group
	Queued      int64         // inputs that wait for it
	InFlight    int64         // requests in flight
	Limit       int           // requests that may be in flight now; a limit that was lowered may be below InFlight for a while
	Lines       int64         // inputs read for it
	Done        int64         // of them, those that have a result; single lookups are not counted
	Failed      int64         // of Done, those that were not answered
	Took        time.Duration // moving average of the time of a request in a batch; zero: not known
	Requests    int64         // requests that ended, retries and those for linked records included
	ParkedUntil time.Time     // when it may be asked again; zero: now
	Dead        bool          // it fails, and is only probed
	Rate        limit.Rate    // the limit that is kept to; zero: none known
	Refused     int64         // requests that it refused as too many
	Held        HoldReason    // why it was held back last; empty: it was not
}

// Progress returns where the batches of c stand, those that have ended included.
// It is cheap enough for a display that is renewed several times a second.
func (c *Client) Progress() Progress {
	p := Progress{Verdicts: make(map[Verdict]int64)}
	byHost := make(map[string]*ServerProgress)
	now := time.Now()
	for _, h := range c.hosts.All() {
		p.Servers = append(p.Servers, serverProgress(h, now))
	}
	for i := range p.Servers {
		byHost[p.Servers[i].Server] = &p.Servers[i]
	}
	c.tallies.mu.Lock()
	defer c.tallies.mu.Unlock()
	p.add(&c.tallies.past)
	for b := range c.tallies.running {
		p.add(&b.tally)
		b.queue.progress(&p, byHost)
	}
	return p
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

// progress adds what the queue knows.
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
				s.Limit = min(s.Limit, l.limit) // its connections carry no more
			}
		}
	}
}

// Drain makes the batches that run come to their end: no more inputs are taken,
// lookups under way go on, those that wait to be repeated end with what came of
// them so far, and inputs that wait for their server end at once as [Failed]
// with [CodeCanceled], not asked. It returns at once. A Batch that starts
// afterwards is not touched.
func (c *Client) Drain() {
	c.tallies.mu.Lock()
	defer c.tallies.mu.Unlock()
	for b := range c.tallies.running {
		b.end()
	}
}

// verdicts are all there are, in the order in which a tally counts them.
var verdicts = [...]Verdict{Registered, Found, NotFound, NoService, RateLimited, Rejected, Failed, Invalid}

// A tally counts what goes through a batch.
type tally struct {
	read     atomic.Int64
	verdicts [len(verdicts)]atomic.Int64
}

func (t *tally) count(v Verdict) {
	if i := slices.Index(verdicts[:], v); i >= 0 {
		t.verdicts[i].Add(1)
	}
}

// tallies are the batches of a Client.
type tallies struct {
	mu      sync.Mutex
	running map[*batch]struct{}
	past    tally
}

func (t *tallies) add(b *batch) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.running == nil {
		t.running = make(map[*batch]struct{})
	}
	t.running[b] = struct{}{}
}

func (t *tallies) remove(b *batch) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.running, b)
	t.past.read.Add(b.tally.read.Load())
	for i := range verdicts {
		t.past.verdicts[i].Add(b.tally.verdicts[i].Load())
	}
}

// A HoldReason is why a server gets no requests for a while, or fewer.
type HoldReason string

// Reasons to hold requests to a server back.
const (
	HoldLimit   HoldReason = "rate_limit" // it refuses requests as too many
	HoldOutage  HoldReason = "outage"     // it fails, refuses connections or is silent
	HoldBlocked HoldReason = "blocked"    // it refuses every request, and not in RDAP
)

// A Hold is an event: the requests to a server are held back.
type Hold struct {
	Server string     // host, with its port if that is unusual, or name of the group
	Reason HoldReason // why
	Status int        // HTTP status of the response that led to it; 0: there was none
	Until  time.Time  // no request is sent before
	Rate   limit.Rate // the limit that is kept to from now on; zero: none
}

var holdReasons = map[gate.Reason]HoldReason{gate.HeldLimit: HoldLimit, gate.HeldOutage: HoldOutage, gate.HeldBlocked: HoldBlocked}

// announce calls Config.OnHold for what the host has to announce.
func (c *Client) announce(h *gate.Host) {
	for _, e := range h.NewHolds() {
		if c.cfg.OnHold != nil {
			c.cfg.OnHold(Hold{Server: h.Name(), Reason: holdReasons[e.Reason], Status: e.Status, Until: e.Until, Rate: e.Rate})
		}
	}
}

// countLines counts n inputs for h that have the same result.
func countLines(h *gate.Host, n int64, v Verdict) {
	h.Lines.Done.Add(n)
	if !v.Answered() {
		h.Lines.Failed.Add(n)
	}
}

// serverProgress returns the state of h, without what the queues know.
func serverProgress(h *gate.Host, now time.Time) ServerProgress {
	s := h.Status(now)
	return ServerProgress{
		Server: h.Name(), InFlight: int64(s.InFlight), Limit: s.Limit, Requests: s.Requests, Refused: s.Refused,
		Dead: s.Dead, Rate: s.Rate, Held: holdReasons[s.Held], ParkedUntil: s.Until,
		Lines: h.Lines.Read.Load(), Done: h.Lines.Done.Load(), Failed: h.Lines.Failed.Load(),
	}
}
