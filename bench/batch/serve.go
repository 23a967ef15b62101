package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path"
	"strconv"
	"sync"
	"time"

	"github.com/rdapq/rdapq/internal/rdaptest"
)

// behaviours are the servers there can be, by name.
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

// A limiter allows n requests in any span of per. With until it refuses all for so
// long after the first, and allows all afterwards.
type limiter struct {
	n     int
	per   time.Duration
	until time.Duration

	mu      sync.Mutex
	first   time.Time
	allowed []time.Time
	report  limiterReport
}

// A limiterReport is what a limiter has seen.
type limiterReport struct {
	Allowed int `json:"allowed"`
	Refused int `json:"refused"`
}

func (l *limiter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if wait := l.wait(time.Now()); wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int((wait+time.Second-1)/time.Second)))
		w.WriteHeader(http.StatusTooManyRequests)
		return
	}
	w.Header().Set("Content-Type", "application/rdap+json")
	fmt.Fprintf(w, `{"objectClassName":"domain","ldhName":%q}`, path.Base(r.URL.Path))
}

func (l *limiter) wait(now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.first.IsZero() {
		l.first = now
	}
	if l.until > 0 {
		if wait := l.first.Add(l.until).Sub(now); wait > 0 {
			l.report.Refused++
			return wait
		}
		l.report.Allowed++
		return 0
	}
	for len(l.allowed) > 0 && now.Sub(l.allowed[0]) >= l.per {
		l.allowed = l.allowed[1:]
	}
	if len(l.allowed) >= l.n {
		l.report.Refused++
		return l.allowed[0].Add(l.per).Sub(now)
	}
	l.allowed = append(l.allowed, now)
	l.report.Allowed++
	return 0
}

// A listing tells of the servers, by name: their URLs at the beginning, and what
// they saw at the end.
type listing struct {
	CA       string                   `json:"ca"`
	URLs     map[string]string        `json:"urls"`
	Requests map[string]int64         `json:"requests,omitempty"`
	Limited  map[string]limiterReport `json:"limited,omitempty"`
}

// serve runs servers until stdin ends.
func serve(stdin io.Reader, stdout io.Writer, names []string) error {
	ca, err := rdaptest.NewCA()
	if err != nil {
		return err
	}
	l := listing{CA: string(ca.PEM()), URLs: map[string]string{}, Requests: map[string]int64{}, Limited: map[string]limiterReport{}}
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
		servers[name], l.URLs[name] = s, s.URL()
	}
	out := json.NewEncoder(stdout)
	if err := out.Encode(l); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, stdin); err != nil {
		return err
	}
	for name, s := range servers {
		l.Requests[name] = s.Totals().Requests
		if lim := limiters[name]; lim != nil {
			lim.mu.Lock()
			l.Limited[name] = lim.report
			lim.mu.Unlock()
		}
	}
	return out.Encode(l)
}
