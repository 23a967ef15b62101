package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/render"
)

func TestProgressFrame(t *testing.T) {
	now := time.Date(2024, 3, 1, 12, 0, 0, 0, time.UTC)
	s := standing{
		now: now, done: 1234, total: 5000, failed: 3, rate: 312.4, left: 12 * time.Second,
		progress: client.Progress{Servers: []client.ServerProgress{
			{Server: "idle.example", Done: 7},
			{Server: "busy.example", InFlight: 8, Limit: 8, Queued: 1200},
			{Server: "parked.example", Queued: 30, ParkedUntil: now.Add(75 * time.Second), Failed: 2, Rate: client.Rate{N: 10, Per: time.Minute}},
			{Server: "dead.example\x1b[2J", Queued: 2, Dead: true},
		}},
	}
	want := []string{
		"1,234 of 5,000 lines, 24% · 312 a second · about 12.0 s left · 3 without an answer",
		`  busy.example             8 of 8 running · 1,200 waiting`,
		`  parked.example           asked again in 1 m 15 s · 30 waiting · 2 without an answer · limit 10/1m`,
		`  dead.example\x1b[2J      does not answer · 2 waiting`,
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
	if strings.Index(got[2], "asked again") != column || strings.Index(got[3], "does not") != column {
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

// TestProgressRate: the rate is that of the last while, and what an earlier run
// did counts as done and not as fast.
func TestProgressRate(t *testing.T) {
	start := time.Date(2024, 3, 1, 12, 0, 0, 0, time.UTC)
	p := &progress{before: 1000, marks: []mark{{start, 0}}}
	p.total.Store(2100)
	p.done.Store(100)
	s := p.state(start.Add(10 * time.Second))
	if s.done != 1100 || s.rate != 10 || s.left != 100*time.Second {
		t.Errorf("%+v", s)
	}
	for i := range 400 { // it gets slower
		p.done.Add(1)
		s = p.state(start.Add(time.Duration(11+i) * time.Second))
	}
	if s.rate != 1 || s.left != 600*time.Second {
		t.Errorf("%+v", s)
	}
	if len(p.marks) > 30 {
		t.Errorf("%d marks are kept", len(p.marks))
	}
	p.total.Store(0)
	if got := p.state(start.Add(412 * time.Second)); got.left != 0 || !strings.HasPrefix(got.line(), "1,500 lines · ") {
		t.Errorf("%+v %s", got, got.line())
	}
}

// TestScreen: what is written comes out above what is drawn, and nothing is left
// of that in the end.
func TestScreen(t *testing.T) {
	var b bytes.Buffer
	s := newScreen(&b)
	if s.terminal() {
		t.Fatal("a buffer is no terminal")
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
