package client

import (
	"log/slog"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rdapq/rdapq/internal/gate"
	"github.com/rdapq/rdapq/internal/spill"
)

// endless yields inputs for one server until the consumer stops.
func endless(read *int64) func(yield func(Input, error) bool) {
	return func(yield func(Input, error) bool) {
		for *read < 1_000_000_000 {
			*read++
			if !yield(Input{Line: *read, Text: "name" + strconv.FormatInt(*read, 10) + ".slow"}, nil) {
				return
			}
		}
	}
}

// A batch reads an endless sequence only as far ahead as MaxQueued or MaxSpill permits. One
// warning reports the pause, and no input is lost.
func TestSourceWaits(t *testing.T) {
	t.Parallel() // the test mostly waits
	for _, tt := range []struct {
		name string
		cfg  Config
		most int64
		warn string
	}{
		{"inputs", Config{Jobs: 2, PerHost: 1, MaxQueued: 500}, 500, "the queue is full"},
		{"in memory", Config{Jobs: 2, PerHost: 1, MaxQueued: 10}, 10, "the queue is full"},
		{"bytes", Config{Jobs: 2, PerHost: 1, MaxSpill: 4 * spill.ChunkSize}, 6 * spill.ChunkSize / 16, "file"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			const results = 5000
			synctest.Test(t, func(t *testing.T) {
				var logged strings.Builder
				cfg := tt.cfg
				cfg.SpillDir = t.TempDir()
				cfg.Logger = slog.New(slog.NewTextHandler(&syncWriter{w: &logged}, &slog.HandlerOptions{Level: slog.LevelWarn}))
				var read, most, n int64
				e := run(t, cfg, endless(&read), after(time.Millisecond), func(e *engine, r *Result) bool {
					if r.Verdict == VerdictRegistered {
						n++
					}
					p := e.b.Progress()
					most = max(most, p.Queued)
					if n == results {
						e.b.Drain()
					}
					return true
				})
				// The sequence may have read one more input, with which it waits.
				if int64(len(e.seen)) != read || most > tt.most+1 || most < tt.most/2 {
					t.Errorf("%d results of %d inputs, %d waited at a time, want at most %d", len(e.seen), read, most, tt.most)
				}
				if strings.Count(logged.String(), "reading pauses") != 1 || !strings.Contains(logged.String(), tt.warn) {
					t.Errorf("warnings: %q", logged.String())
				}
				if p := e.b.Progress(); p.Queued != 0 || p.Spilled != 0 {
					t.Errorf("%+v", p)
				}
			})
		})
	}
}

type syncWriter struct {
	mu sync.Mutex
	w  *strings.Builder
}

func (s *syncWriter) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(p)
}

// A panic of the sequence, or runtime.Goexit in it, reappears in the loop over the results, and
// leaves no goroutine running.
func TestSourcePanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := func(end func()) func(yield func(Input, error) bool) {
			return func(yield func(Input, error) bool) {
				for i := range int64(10) {
					yield(Input{Line: i + 1, Text: "name" + strconv.FormatInt(i, 10) + ".one"}, nil)
				}
				end()
			}
		}
		caught := func() (v any) {
			defer func() { v = recover() }()
			run(t, Config{}, source(func() { panic("in the source") }), after(time.Second))
			return nil
		}()
		if caught != "in the source" {
			t.Errorf("recovered %v", caught)
		}
		exited := make(chan bool)
		go func() {
			normal := false
			defer func() { exited <- !normal && recover() == nil }()
			run(t, Config{}, source(runtime.Goexit), after(time.Second))
			normal = true
		}()
		if !<-exited {
			t.Error("the loop went on after runtime.Goexit")
		}
		// A panic after a break out of the loop.
		caught = func() (v any) {
			defer func() { v = recover() }()
			run(t, Config{}, source(func() { panic("after the loop") }), after(time.Millisecond), func(*engine, *Result) bool { return false })
			return nil
		}()
		if caught != nil && caught != "after the loop" {
			t.Errorf("recovered %v", caught)
		}
	})
}

// A panic in a user-supplied part of the Config reappears in the loop too, and the host's
// place is free afterwards.
func TestWorkerPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		caught := func() (v any) {
			defer func() { v = recover() }()
			run(t, Config{}, numbered(100, "one"), func(k *task, nth int) (Verdict, gate.Outcome) {
				if nth == 7 {
					panic("in the transport")
				}
				time.Sleep(time.Millisecond)
				return VerdictRegistered, gate.Outcome{Kind: gate.Answered}
			})
			return nil
		}()
		if caught != "in the transport" {
			t.Errorf("recovered %v", caught)
		}
	})
}
