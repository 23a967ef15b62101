package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/render"
)

const (
	// drawInterval is the time between updates on a terminal.
	drawInterval = 250 * time.Millisecond
	// noteInterval is the time between updates if standard error is not a terminal.
	noteInterval = 30 * time.Second
	// rateSpan is the time over which the rate is measured.
	rateSpan = 20 * time.Second
)

// A progress shows the progress of a batch on standard error: on a terminal as an
// updated display, elsewhere as a line per noteInterval.
type progress struct {
	screen *screen
	batch  *client.Batch
	before int64        // number of lines done by an earlier run
	total  atomic.Int64 // number of lines of the input; 0 means unknown
	done   atomic.Int64 // number of lines done by this run
	failed atomic.Int64 // number of lines of this run without a response

	cancel context.CancelFunc
	ended  chan struct{}
	marks  []mark // samples of the last rateSpan
	paces  []pace // samples of the last paceSpan
	jobs   int    // value of --jobs
}

// A mark records the number of lines done at a point in time.
type mark struct {
	at   time.Time
	done int64
}

// start shows the progress until stop is called.
func (p *progress) start(ctx context.Context, src *source) {
	ctx, p.cancel = context.WithCancel(ctx)
	p.ended = make(chan struct{})
	go func() {
		p.total.Store(src.count(ctx)) // reads the input a second time, concurrently
	}()
	go func() {
		defer close(p.ended)
		interval := noteInterval
		if p.screen.terminal() {
			interval = drawInterval
		}
		tick := time.NewTicker(interval)
		defer tick.Stop()
		p.marks = append(p.marks, mark{time.Now(), 0})
		for {
			select {
			case <-ctx.Done():
				return
			case now := <-tick.C:
				p.show(now, src)
			}
		}
	}()
}

// seen counts a result.
func (p *progress) seen(v client.Verdict) {
	p.done.Add(1)
	if !v.Answered() {
		p.failed.Add(1)
	}
}

// stop removes the progress from the screen.
func (p *progress) stop() {
	if p.cancel == nil {
		return
	}
	p.cancel()
	<-p.ended
	p.screen.clear()
}

func (p *progress) show(now time.Time, src *source) {
	s := p.state(now)
	s.total = max(s.total-src.dropped.Load(), 0)
	s.progress = p.batch.Progress()
	p.record(now, s.progress.Servers)
	s.left = p.timeLeft(now, &s)
	if !p.screen.terminal() {
		fmt.Fprintf(p.screen, "rdapq: %s\n", s.line())
		return
	}
	width, height := p.screen.size()
	p.screen.draw(s.frame(width, height))
}

// A progressState is a snapshot of a batch for the display.
type progressState struct {
	now         time.Time
	done, total int64 // numbers of lines, including those of an earlier run
	failed      int64
	rate        float64       // lines per second
	left        time.Duration // 0 means unknown
	progress    client.Progress
}

func (p *progress) state(now time.Time) progressState {
	s := progressState{now: now, done: p.done.Load(), total: p.total.Load(), failed: p.failed.Load()}
	p.marks = append(p.marks, mark{now, s.done})
	old := slices.IndexFunc(p.marks, func(m mark) bool { return now.Sub(m.at) <= rateSpan })
	p.marks = p.marks[max(min(old, len(p.marks)-2), 0):]
	first := p.marks[0]
	if span := now.Sub(first.at).Seconds(); span > 0 {
		s.rate = float64(s.done-first.done) / span
	}
	s.done += p.before
	return s
}

// line returns the state as one line.
func (s *progressState) line() string {
	var b strings.Builder
	b.WriteString(render.Grouped(s.done))
	if s.total > 0 {
		fmt.Fprintf(&b, " of %s lines, %d%%", render.Grouped(s.total), s.done*100/max(s.total, 1))
	} else {
		b.WriteString(" lines")
	}
	switch {
	case s.rate >= 10:
		fmt.Fprintf(&b, " · %s per second", render.Grouped(int64(s.rate)))
	case s.rate > 0:
		fmt.Fprintf(&b, " · %.1f per second", s.rate)
	}
	if s.left >= time.Second {
		fmt.Fprintf(&b, " · about %s left", wholeSpan(s.left))
	}
	if s.failed > 0 {
		fmt.Fprintf(&b, " · %s failed", render.Plural(s.failed, "line"))
	}
	return b.String()
}

// maxShownServers limits the servers shown on a terminal of any height.
const maxShownServers = 10

// frame returns the state as lines for a terminal of the given size: the total, and the
// servers with the longest queues.
func (s *progressState) frame(width, height int) []string {
	lines := []string{s.line()}
	servers := slices.DeleteFunc(slices.Clone(s.progress.Servers), func(p client.ServerProgress) bool {
		return p.Queued == 0 && p.InFlight == 0
	})
	slices.SortStableFunc(servers, func(a, b client.ServerProgress) int {
		return cmp.Compare(b.Queued+b.InFlight, a.Queued+a.InFlight)
	})
	room := max(min(height-3, maxShownServers), 0)
	names := 0
	for _, p := range servers[:min(len(servers), room)] {
		names = max(names, min(render.Columns(render.Safe(p.Server)), width/2))
	}
	for i, p := range servers {
		if i == room {
			if room > 0 {
				lines = append(lines, fmt.Sprintf("  and %s more", render.Plural(int64(len(servers)-room), "server")))
			}
			break
		}
		name := render.Shorten(render.Safe(p.Server), names)
		lines = append(lines, "  "+name+strings.Repeat(" ", names-render.Columns(name))+"  "+s.server(p))
	}
	for i, l := range lines {
		lines[i] = render.Shorten(l, width-1)
	}
	return lines
}

// server describes the state of one server.
func (s *progressState) server(p client.ServerProgress) string {
	var parts []string
	switch wait := p.ParkedUntil.Sub(s.now).Round(time.Second); {
	case p.Dead:
		parts = append(parts, "not responding")
	case wait > 0:
		parts = append(parts, "paused for "+wholeSpan(wait))
	case p.InFlight > int64(p.Limit): // the limit was lowered while requests were in flight
		parts = append(parts, fmt.Sprintf("%d running · limit lowered to %d", p.InFlight, p.Limit))
	default:
		parts = append(parts, fmt.Sprintf("%d of %d running", p.InFlight, p.Limit))
	}
	if p.Queued > 0 {
		parts = append(parts, render.Grouped(p.Queued)+" waiting")
	}
	if p.Failed > 0 {
		parts = append(parts, render.Plural(p.Failed, "line")+" failed")
	}
	if retries := p.Requests - p.Done; retries > 0 && p.Done > 0 {
		parts = append(parts, render.Grouped(p.Requests)+" requests for "+render.Plural(p.Done, "line"))
	}
	if !p.Rate.IsZero() {
		parts = append(parts, "limit "+render.Limit(p.Rate))
	}
	return strings.Join(parts, " · ")
}

// wholeSpan formats a duration in whole seconds: "12 s", "1 m 15 s".
func wholeSpan(d time.Duration) string {
	if d = d.Round(time.Second); d < time.Minute {
		return strconv.Itoa(int(d/time.Second)) + " s"
	}
	return render.Span(d)
}
