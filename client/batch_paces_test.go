package client

import (
	"fmt"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rdapq/rdapq/internal/gate"
	"github.com/rdapq/rdapq/limit"
)

// The request rate stays within a published limit, and is not much lower.
func TestEnginePublishedRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rates := map[string]limit.Rate{"slow.example": {N: 10, Per: 3 * time.Second}}
		e := run(t, Config{Rates: rates}, numbered(120, "slow", "fast"), after(20*time.Millisecond))
		if v := e.verdicts(); v[VerdictRegistered] != 120 {
			t.Errorf("%v", v)
		}
		if n := e.mostWithin("slow.example", 3*time.Second); n != 10 {
			t.Errorf("%d requests in 3 s", n)
		}
		if took := time.Since(e.begin); took > 17*time.Second {
			t.Errorf("60 requests at 10 in 3 s took %v", took)
		}
		if last := e.asked["fast.example"][59]; last > time.Second {
			t.Errorf("the other server's last request was after %v", last)
		}
	})
}

// A lookup that would wait longer than MaxWait ends immediately, with the time to retry.
func TestEngineMaxWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rates := map[string]limit.Rate{"slow.example": {N: 10, Per: time.Hour}}
		e := run(t, Config{Rates: rates}, numbered(60, "slow", "fast"), after(20*time.Millisecond))
		v := e.verdicts()
		if v[VerdictRegistered] != 40 || v[VerdictRateLimited] != 20 || len(e.asked["slow.example"]) != 10 {
			t.Errorf("%v, %d asked", v, len(e.asked["slow.example"]))
		}
		for _, r := range e.seen {
			if r.Verdict == VerdictRateLimited && (ErrorOf(r).RetryAfter < 59*time.Minute || ErrorOf(r).RetryAfter > time.Hour || r.Attempts != 0 || r.Server == "") {
				t.Errorf("%+v: %+v", r, ErrorOf(r))
			}
		}
		if took := time.Since(e.begin); took > time.Second {
			t.Errorf("took %v", took)
		}
	})
}

// A lookup that cannot be sent before the context's deadline does not wait for the
// deadline.
func TestEngineDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newTestQueue(Config{Rates: map[string]limit.Rate{"a.example": {N: 1, Per: time.Minute}}})
		q.deadline = time.Now().Add(30 * time.Second)
		close(q.hold)
		q.add("https://a.example/", "1")
		q.want(t, 0)
		h := q.hosts.At(&url.URL{Scheme: "https", Host: "a.example"})
		send(t, h, gate.Outcome{Kind: gate.Answered})
		q.add("https://a.example/", "2")
		q.want(t, 0)
		if q.waiting != 0 || len(q.timers) != 0 {
			t.Errorf("%d inputs wait", q.waiting)
		}
		q.deadline = time.Now().Add(2 * time.Minute)
		q.add("https://a.example/", "3")
		q.want(t, 0)
		if q.waiting != 1 || len(q.timers) != 1 {
			t.Errorf("%d inputs wait, though there is time", q.waiting)
		}
		q.clear()
		q.close()
		q.want(t, 0)
	})
}

// After a Retry-After, no request is sent too early, and all lines get a response.
func TestEngineRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var window []time.Time // state of the limit as the server counts: 10 requests in 3 s
		refused := 0
		e := run(t, Config{}, numbered(120, "strict", "fast"), func(k *task, _ int) (Verdict, gate.Outcome) {
			if k.host.Name() != "strict.example" {
				return after(5*time.Millisecond)(k, 0)
			}
			mu.Lock()
			now, wait := time.Now(), time.Duration(0)
			for len(window) > 0 && now.Sub(window[0]) >= 3*time.Second {
				window = window[1:]
			}
			if len(window) < 10 {
				window = append(window, now)
			} else {
				refused++
				wait = (window[0].Add(3*time.Second).Sub(now) + time.Second - 1).Truncate(time.Second)
			}
			mu.Unlock()
			if wait > 0 {
				time.Sleep(5 * time.Millisecond)
				return VerdictRateLimited, gate.Outcome{Kind: gate.Throttled, RetryAfter: wait}
			}
			return after(5*time.Millisecond)(k, 0)
		})
		if v := e.verdicts(); v[VerdictRegistered] != 120 {
			t.Errorf("%v", v)
		}
		// The discovery of the limit costs the requests in flight at the first refusal.
		if refused > DefaultPerHost+2 {
			t.Errorf("%d requests were refused", refused)
		}
		if took := time.Since(e.begin); took > 24*time.Second {
			t.Errorf("took %v", took)
		}
	})
}

// A server that refuses every second or fifth request loses no line, and gets only a limited
// number of extra requests.
func TestEngineNowAndThen(t *testing.T) {
	for _, every := range []int{2, 3, 4, 5, 7} {
		synctest.Test(t, func(t *testing.T) {
			e := run(t, Config{}, numbered(60, "odd"), func(k *task, nth int) (Verdict, gate.Outcome) {
				time.Sleep(5 * time.Millisecond)
				if nth%every == 0 {
					return VerdictRateLimited, gate.Outcome{Kind: gate.Throttled}
				}
				return VerdictRegistered, gate.Outcome{Kind: gate.Answered}
			})
			if v := e.verdicts(); v[VerdictRegistered] != 60 {
				t.Errorf("every %dth: %v", every, v)
			}
			if n, need := len(e.asked["odd.example"]), 60*every/(every-1); n > need {
				t.Errorf("every %dth: %d requests, %d are enough", every, n, need)
			}
		})
	}
}

// The lines of a server that never responds end after a while, and delay no line of
// another server.
func TestEngineDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := run(t, Config{}, numbered(200, "dead", "fast"), func(k *task, _ int) (Verdict, gate.Outcome) {
			if k.host.Name() == "dead.example" {
				time.Sleep(15 * time.Second)
				return VerdictFailed, gate.Outcome{Kind: gate.Unreachable}
			}
			return after(5*time.Millisecond)(k, 0)
		})
		v := e.verdicts()
		if v[VerdictRegistered] != 100 || v[VerdictFailed] != 100 {
			t.Errorf("%v", v)
		}
		// Allow the first concurrent requests, as many again until the outage is detected, and
		// the probes.
		if n := len(e.asked["dead.example"]); n > 2*DefaultPerHost+5 {
			t.Errorf("the dead server was sent %d requests", n)
		}
		notSent := 0
		for _, r := range e.seen {
			if r.Verdict == VerdictFailed && r.Attempts == 0 {
				notSent++
				if ErrorOf(r).Code != CodeTimeout || !strings.Contains(ErrorOf(r).Message, "not sent: dead.example failed") {
					t.Fatalf("%+v", ErrorOf(r))
				}
			}
		}
		if notSent < 100-2*DefaultPerHost-1 {
			t.Errorf("%d were not sent", notSent)
		}
		if took := time.Since(e.begin); took < time.Minute || took > time.Minute+35*time.Second {
			t.Errorf("took %v", took)
		}
		for _, line := range e.order[:100] {
			if line%2 == 1 {
				t.Fatalf("line %d of the dead server came before the others' last", line)
			}
		}
	})
}

// A server that fails briefly loses no line.
func TestEngineComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		e := run(t, Config{Attempts: 5}, numbered(200, "shaky"), func(k *task, _ int) (Verdict, gate.Outcome) {
			time.Sleep(5 * time.Millisecond)
			if now := time.Since(begin); now > 50*time.Millisecond && now < 700*time.Millisecond {
				return VerdictFailed, gate.Outcome{Kind: gate.Unreachable}
			}
			return VerdictRegistered, gate.Outcome{Kind: gate.Answered}
		})
		if v := e.verdicts(); v[VerdictRegistered] != 200 {
			t.Errorf("%v", v)
		}
	})
}

// Transient failures are retried after a pause, up to the permitted number of attempts.
// They do not count as an outage of a server that responds to other queries.
func TestEngineRepeats(t *testing.T) {
	// Other lines continue until the ill lines have ended. If all requests failed, the batch
	// could detect an outage.
	const lines, ill = 8000, 100
	synctest.Test(t, func(t *testing.T) {
		number := func(name string) (n int) {
			_, _ = fmt.Sscanf(name, "name%d.", &n)
			return n
		}
		var last atomic.Int64 // time of the last request of the failing lines, as Unix time in ns
		e := run(t, Config{Attempts: 4}, numbered(lines, "ill"), func(k *task, _ int) (Verdict, gate.Outcome) {
			n := number(k.result.Query.Name)
			if n < ill && (n%10 == 3 || n%10 == 6 && k.result.Attempts < 3) {
				time.Sleep(time.Millisecond)
				last.Store(time.Now().UnixNano())
				return VerdictFailed, gate.Outcome{Kind: gate.Overloaded}
			}
			time.Sleep(60 * time.Millisecond)
			return VerdictRegistered, gate.Outcome{Kind: gate.Answered}
		})
		for _, r := range e.seen {
			want, attempts := VerdictRegistered, 1
			switch n := number(r.Query.Name); {
			case n < ill && n%10 == 3:
				want, attempts = VerdictFailed, 4
			case n < ill && n%10 == 6:
				attempts = 3
			}
			if r.Verdict != want || r.Attempts != attempts {
				t.Errorf("%s: %s after %d attempts", r.Query.Name, r.Verdict, r.Attempts)
			}
		}
		if took := time.Unix(0, last.Load()).Sub(e.begin); took > 10*time.Second {
			t.Errorf("took %v", took)
		}
	})
}

// A server that does not respond to its first requests gets more time.
func TestEngineSilentAtFirst(t *testing.T) {
	for _, jobs := range []int{8, 64} {
		synctest.Test(t, func(t *testing.T) {
			e := run(t, Config{Jobs: jobs}, numbered(200, "late"), func(_ *task, nth int) (Verdict, gate.Outcome) {
				if nth <= 20 {
					time.Sleep(500 * time.Millisecond)
					return VerdictFailed, gate.Outcome{Kind: gate.Unreachable}
				}
				time.Sleep(5 * time.Millisecond)
				return VerdictRegistered, gate.Outcome{Kind: gate.Answered}
			})
			if v := e.verdicts(); v[VerdictRegistered] != 200 {
				t.Errorf("%d jobs: %v", jobs, v)
			}
		})
	}
}

// A server that refuses every request with a non-RDAP response gets few requests. Its
// lines end as rate limited, so that a resumed run retries them.
func TestEngineWall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := run(t, Config{}, numbered(600, "wall"), func(*task, int) (Verdict, gate.Outcome) {
			time.Sleep(50 * time.Millisecond)
			return VerdictRejected, gate.Outcome{Kind: gate.Walled, Status: 403}
		})
		if v := e.verdicts(); v[VerdictRateLimited] != 600 {
			t.Errorf("%v", v)
		}
		if n := len(e.asked["wall.example"]); n > 60 {
			t.Errorf("%d requests", n)
		}
		if took := time.Since(e.begin); took > 30*time.Second {
			t.Errorf("took %v", took)
		}
	})
}
