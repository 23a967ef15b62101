package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/render"
	"github.com/rdapq/rdapq/limit"
)

func TestProgressFrame(t *testing.T) {
	now := time.Date(2024, 3, 1, 12, 0, 0, 0, time.UTC)
	s := progressState{
		now: now, done: 1234, total: 5000, failed: 3, rate: 312.4, left: 12 * time.Second,
		progress: client.Progress{Servers: []client.ServerProgress{
			{Server: "idle.example", Done: 7},
			{Server: "busy.example", InFlight: 8, Limit: 8, Queued: 1200},
			{Server: "parked.example", Queued: 30, ParkedUntil: now.Add(75 * time.Second), Failed: 2, Done: 4, Requests: 9, Rate: limit.Rate{N: 10, Per: time.Minute}},
			{Server: "lowered.example", InFlight: 13, Limit: 8, Queued: 3, Rate: limit.Rate{N: 2270, Per: 54794411056}},
			{Server: "dead.example\x1b[2J", Queued: 2, Dead: true},
		}},
	}
	want := []string{
		"1,234 of 5,000 lines, 24% · 312 per second · about 12 s left · 3 lines failed",
		`  busy.example             8 of 8 running · 1,200 waiting`,
		`  parked.example           paused for 1 m 15 s · 30 waiting · 2 lines failed · 9 requests for 4 lines · limit 10 per 1 m`,
		`  lowered.example 13 running · limit lowered to 8 · 3 waiting · limit 2,270 per 55 s`,
		`  dead.example\x1b[2J      not responding · 2 waiting`,
	}
	got := s.frame(120, 40)
	squeeze := func(lines []string) (out []string) {
		for _, l := range lines {
			out = append(out, strings.Join(strings.Fields(l), " "))
		}
		return out
	}
	if diff := cmp.Diff(squeeze(want), squeeze(got)); diff != "" {
		t.Error(diff)
	}
	column := strings.Index(got[1], "8 of 8")
	if strings.Index(got[2], "paused for") != column || strings.Index(got[4], "not responding") != column {
		t.Errorf("not aligned:\n%s", strings.Join(got, "\n"))
	}
	for _, size := range [][2]int{{40, 40}, {20, 5}, {1, 1}, {200, 4}} {
		lines := s.frame(size[0], size[1])
		if len(lines) > max(size[1]-1, 1) {
			t.Errorf("%v: %d lines", size, len(lines))
		}
		for _, l := range lines {
			if render.Columns(l) > max(size[0]-1, 1) {
				t.Errorf("%v: %q", size, l)
			}
		}
	}
}

// The displayed rate is that of the last seconds. Lines of an earlier run count as done, but
// not in the rate.
func TestProgressRate(t *testing.T) {
	start := time.Date(2024, 3, 1, 12, 0, 0, 0, time.UTC)
	p := &progress{before: 1000, marks: []mark{{start, 0}}}
	p.total.Store(2100)
	p.done.Store(100)
	s := p.state(start.Add(10 * time.Second))
	if s.done != 1100 || s.rate != 10 {
		t.Errorf("%+v", s)
	}
	for i := range 400 { // the rate drops
		p.done.Add(1)
		s = p.state(start.Add(time.Duration(11+i) * time.Second))
	}
	if s.rate != 1 {
		t.Errorf("%+v", s)
	}
	if len(p.marks) > 30 {
		t.Errorf("%d marks are kept", len(p.marks))
	}
	p.total.Store(0)
	if got := p.state(start.Add(412 * time.Second)); !strings.HasPrefix(got.line(), "1,500 lines · ") {
		t.Errorf("%+v %s", got, got.line())
	}
}

// The displayed time left is that of the slowest host with its share of unread lines, not that
// of all lines at the total rate.
func TestTimeLeft(t *testing.T) {
	start := time.Date(2024, 3, 1, 12, 0, 0, 0, time.UTC)
	type host struct {
		client.ServerProgress
		perSecond, lines int64
	}
	run := func(hosts []host, total, read int64, jobs int, seconds int) time.Duration {
		p := &progress{jobs: jobs}
		var left time.Duration
		for at := range seconds + 1 {
			now := start.Add(time.Duration(at) * time.Second)
			s := progressState{now: now, total: total}
			s.progress.Read = read
			for _, h := range hosts {
				one := h.ServerProgress
				one.Lines = h.lines
				one.Done = min(h.perSecond*int64(at), h.lines)
				one.Queued = max(one.Lines-one.Done-one.InFlight, 0)
				s.progress.Servers = append(s.progress.Servers, one)
			}
			p.record(now, s.progress.Servers)
			left = p.timeLeft(now, &s)
		}
		if len(p.paces) > int(paceSpan/paceInterval)+2 {
			t.Errorf("%d notes are kept", len(p.paces))
		}
		return left
	}
	quick := host{client.ServerProgress{Server: "quick.example", InFlight: 60, Limit: 64}, 1000, 40_000}
	slow := host{client.ServerProgress{Server: "slow.example", InFlight: 8, Limit: 8}, 10, 2000}
	quota := host{client.ServerProgress{Server: "quota.example", InFlight: 1, Limit: 8, Rate: limit.Rate{N: 60, Per: 6 * time.Second}}, 10, 3000}
	starved := host{client.ServerProgress{Server: "starved.example", InFlight: 1, Limit: 8, Took: 100 * time.Millisecond}, 1, 400}
	dead := host{client.ServerProgress{Server: "dead.example", Dead: true}, 0, 500}
	for _, tt := range []struct {
		name        string
		hosts       []host
		total, read int64
		jobs        int
		want        time.Duration
	}{
		{"the slow host is last", []host{quick, slow, dead}, 42_500, 42_500, 512, 170 * time.Second},
		{"so is the one with a quota", []host{quick, slow, quota}, 45_000, 45_000, 512, 270 * time.Second},
		{"a host that others keep from running does not count by its pace", []host{quick, starved}, 40_400, 40_400, 512, 10 * time.Second},
		{"half is not read yet", []host{quick, slow}, 84_000, 42_000, 512, 370 * time.Second},
		{"the jobs are the bound", []host{quick, slow}, 42_000, 42_000, 68, 170 * time.Second},
	} {
		if got := run(tt.hosts, tt.total, tt.read, tt.jobs, 30); got < tt.want*2/3 || got > tt.want*3/2 {
			t.Errorf("%s: %v left, want %v", tt.name, got, tt.want)
		}
	}
	if got := run(nil, 10, 0, 512, 0); got != 0 {
		t.Errorf("%v left at start", got)
	}
}

// Written text appears above the display, and clear removes the display.
func TestScreen(t *testing.T) {
	var b bytes.Buffer
	s := newScreen(&b)
	if s.terminal() {
		t.Fatal("a buffer is reported as a terminal")
	}
	write := func(text string) {
		if _, err := s.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	write("plain\n")
	s.draw([]string{"one", "two"})
	write("message\n")
	s.draw([]string{"three"})
	s.clear()
	s.clear()
	want := "plain\n" +
		"one\x1b[K\ntwo\x1b[K\n" +
		"\x1b[2A\x1b[J" + "message\n" + "one\x1b[K\ntwo\x1b[K\n" +
		"\x1b[2Athree\x1b[K\n\x1b[J" +
		"\x1b[1A\x1b[J"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}
