package attemptclock

import (
	"context"
	"errors"
	"net/http/httptrace"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// The clock counts only the time during which the server has the request.
func TestClock(t *testing.T) {
	const limit, wait = 10 * time.Second, 30 * time.Second
	for _, c := range []struct {
		name   string
		hooked bool
		wait   time.Duration
		// steps of the attempt: W waits, G has a connection, R is with the server, P is paused,
		// C continues, and 1 to 9 are seconds that pass
		steps string
		ends  time.Duration // remaining time after the steps; negative means never
	}{
		{"running", true, -1, "WGR", limit},
		{"some time is used", true, -1, "WGR4", 6 * time.Second},
		{"waiting does not count", true, -1, "W999GR", limit},
		{"waiting has no bound of the clock's", true, -1, "W", -1},
		{"again for a redirect", true, -1, "WGR4W999GR", 6 * time.Second},
		{"a stream that comes late", true, -1, "WG9R", limit},
		{"no stream", true, -1, "WG9", time.Second},
		{"paused", true, -1, "WGR3P999C", 7 * time.Second},
		{"paused for ever", true, -1, "WGR3P", -1},
		{"no hooks", false, wait, "3", 7 * time.Second},
		{"hooks of another transport", false, wait, "1W9GR", 9 * time.Second},
		{"wait for another transport", false, wait, "1W9", 21 * time.Second},
		{"a connection twice", true, -1, "WGRG4G", 6 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				k := new(Clock)
				k.Start(time.Now(), limit, c.wait, c.hooked, cancel)
				hooks := httptrace.ContextClientTrace(k.WithTrace(ctx, nil))
				for _, s := range c.steps {
					switch s {
					case 'W':
						hooks.GetConn("")
					case 'G':
						hooks.GotConn(httptrace.GotConnInfo{})
					case 'R':
						hooks.WroteHeaders()
					case 'P':
						k.Pause()
					case 'C':
						k.Resume()
					default:
						time.Sleep(time.Duration(s-'0') * time.Second)
					}
				}
				begin := time.Now()
				select {
				case <-ctx.Done():
					cause := context.Cause(ctx)
					if took := time.Since(begin); took != c.ends || !errors.Is(cause, context.DeadlineExceeded) {
						t.Errorf("%v after %v, want %v", cause, took, c.ends)
					}
					want := limit
					if strings.HasSuffix(c.steps, "W9") {
						want = wait
					}
					if got := k.Expired(); got != want {
						t.Errorf("reports a limit of %v, want %v", got, want)
					}
				case <-time.After(time.Hour):
					if c.ends >= 0 || k.Expired() != 0 {
						t.Errorf("nothing ended it, want %v", c.ends)
					}
				}
				expired := k.Expired()
				k.Stop()
				hooks.GetConn("") // hooks may be called late
				hooks.WroteHeaders()
				if got := k.Expired(); got != expired {
					t.Errorf("reports a limit of %v after the end, before it %v", got, expired)
				}
			})
		})
	}
}
