package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"path"
	"strconv"
	"sync"
	"time"

	"github.com/rdapq/rdapq/internal/rdaptest"
)

// behaviours maps names to the available servers.
var behaviours = map[string]func(*rdaptest.Config) func(*rdaptest.Server){
	"fast":  func(*rdaptest.Config) func(*rdaptest.Server) { return nil },
	"other": func(*rdaptest.Config) func(*rdaptest.Server) { return nil },
	"slow": func(c *rdaptest.Config) func(*rdaptest.Server) {
		c.Latency = 20 * time.Millisecond
		return nil
	},
	"limited": func(c *rdaptest.Config) func(*rdaptest.Server) {
		c.Handler = &limiter{n: 10, per: 3 * time.Second}
		return nil
	},
	"moody": on(rdaptest.Every(5, rdaptest.Status(429))),
	"hole":  on(rdaptest.Hang()),
	"html":  on(rdaptest.Status(500), rdaptest.Body("text/html", "<h1>Internal Server Error</h1>")),
	"steady": func(c *rdaptest.Config) func(*rdaptest.Server) {
		c.Handler = &limiter{latency: 50 * time.Millisecond}
		return nil
	},
	"random": func(c *rdaptest.Config) func(*rdaptest.Server) {
		c.Handler = &limiter{latency: 50 * time.Millisecond, chance: 0.004}
		return nil
	},
	"ten": func(c *rdaptest.Config) func(*rdaptest.Server) {
		c.Handler = &limiter{latency: 50 * time.Millisecond, n: 10, per: 3 * time.Second}
		return nil
	},
	"minute": func(c *rdaptest.Config) func(*rdaptest.Server) {
		c.Handler = &limiter{latency: 50 * time.Millisecond, n: 60, per: time.Minute, fixed: true}
		return nil
	},
	"parked": func(c *rdaptest.Config) func(*rdaptest.Server) {
		c.Handler = &limiter{until: 2 * time.Minute}
		return nil
	},
}

func on(b ...rdaptest.Behaviour) func(*rdaptest.Config) func(*rdaptest.Server) {
	return func(*rdaptest.Config) func(*rdaptest.Server) {
		return func(s *rdaptest.Server) { s.On("*", b...) }
	}
}

// A limiter allows n requests in any span of per. If fixed is set, it allows them in windows
// that begin with the first request after the previous window. If until is set, it refuses all
// requests for that time after the first request, and allows all later requests. It refuses the
// share chance of the requests at random.
type limiter struct {
	n       int
	per     time.Duration
	fixed   bool
	until   time.Duration
	chance  float64
	latency time.Duration

	mu      sync.Mutex
	first   time.Time
	allowed []time.Time // requests allowed in the current window or span
	report  limiterReport
}

// A limiterReport holds the counts of a limiter. Times count from the limiter's first request.
type limiterReport struct {
	Allowed int             `json:"allowed"`
	Refused int             `json:"refused"`
	Last    time.Duration   `json:"last"`            // time of the last allowed request
	At      []time.Duration `json:"at_ns,omitempty"` // times of the first refusals
}

// maxRefusals limits the length of limiterReport.At.
const maxRefusals = 1000

func (l *limiter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	wait := l.admit(time.Now())
	time.Sleep(l.latency)
	if wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int((wait+time.Second-1)/time.Second)))
		w.WriteHeader(http.StatusTooManyRequests)
		return
	}
	w.Header().Set("Content-Type", "application/rdap+json")
	fmt.Fprintf(w, `{"objectClassName":"domain","ldhName":%q}`, path.Base(r.URL.Path))
}

// admit counts a request. If it refuses the request, it returns how long to wait, and otherwise
// 0.
func (l *limiter) admit(now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.first.IsZero() {
		l.first = now
	}
	wait := l.wait(now)
	if wait > 0 {
		l.report.Refused++
		if len(l.report.At) < maxRefusals {
			l.report.At = append(l.report.At, now.Sub(l.first))
		}
		return wait
	}
	l.report.Allowed++
	l.report.Last = now.Sub(l.first)
	return 0
}

func (l *limiter) wait(now time.Time) time.Duration {
	if wait := l.first.Add(l.until).Sub(now); l.until > 0 && wait > 0 {
		return wait
	}
	if l.chance > 0 && rand.Float64() < l.chance {
		return time.Second
	}
	if l.n == 0 {
		return 0
	}
	if l.fixed {
		if len(l.allowed) > 0 && now.Sub(l.allowed[0]) >= l.per {
			l.allowed = l.allowed[:0]
		}
	} else {
		for len(l.allowed) > 0 && now.Sub(l.allowed[0]) >= l.per {
			l.allowed = l.allowed[1:]
		}
	}
	if len(l.allowed) >= l.n {
		return l.allowed[0].Add(l.per).Sub(now)
	}
	l.allowed = append(l.allowed, now)
	return 0
}

// reset returns the counts since the last reset. It does not reset the limit itself.
func (l *limiter) reset() limiterReport {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.report
	l.report, l.first = limiterReport{}, time.Time{}
	return r
}

// A listing describes the servers, by name: their URLs at the start, and their counts
// since the previous listing.
type listing struct {
	CA       string                   `json:"ca"`
	URLs     map[string]string        `json:"urls"`
	Requests map[string]int64         `json:"requests,omitempty"`
	Limited  map[string]limiterReport `json:"limited,omitempty"`
}

// serve runs servers until stdin ends. It writes a listing at the start and for
// each line that it reads.
func serve(stdin io.Reader, stdout io.Writer, names []string) error {
	ca, err := rdaptest.NewCA()
	if err != nil {
		return err
	}
	begin := listing{CA: string(ca.PEM()), URLs: map[string]string{}}
	servers := map[string]*rdaptest.Server{}
	limiters := map[string]*limiter{}
	for _, name := range names {
		b := behaviours[name]
		if b == nil {
			return fmt.Errorf("no server %q", name)
		}
		c := rdaptest.Config{CA: ca, Source: rdaptest.Invented{Shape: rdaptest.Minimal}}
		then := b(&c)
		s, err := rdaptest.New(c)
		if err != nil {
			return err
		}
		defer s.Close()
		if then != nil {
			then(s)
		}
		if lim, ok := c.Handler.(*limiter); ok {
			limiters[name] = lim
		}
		servers[name], begin.URLs[name] = s, s.URL()
	}
	out := json.NewEncoder(stdout)
	if err := out.Encode(begin); err != nil {
		return err
	}
	before := map[string]int64{}
	for in := bufio.NewScanner(stdin); in.Scan(); {
		l := listing{Requests: map[string]int64{}, Limited: map[string]limiterReport{}}
		for name, s := range servers {
			n := s.Totals().Requests
			l.Requests[name], before[name] = n-before[name], n
			if lim := limiters[name]; lim != nil {
				l.Limited[name] = lim.reset()
			}
		}
		if err := out.Encode(l); err != nil {
			return err
		}
	}
	return nil
}
