package pool_test

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/pool"
)

func four(time.Duration, int64) int { return 4 }

func announce(n int) func(*rdaptest.RawConn) {
	return func(c *rdaptest.RawConn) {
		_ = c.WriteSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: uint32(n)})
	}
}

// opening returns a server that accepts no request for half a second after its first
// connection, and then four per connection.
func opening(announced bool) *rdaptest.RawH2 {
	const closed = 500 * time.Millisecond
	begun := sync.OnceValue(time.Now)
	limit := func() int {
		if time.Since(begun()) < closed {
			return 0
		}
		return 4
	}
	r := &rdaptest.RawH2{MaxStreams: rdaptest.Unannounced, Accept: func(time.Duration, int64) int { return limit() }}
	if announced {
		r.First = func(c *rdaptest.RawConn) { announce(limit())(c) }
		r.After = map[time.Duration]func(*rdaptest.RawConn){closed: announce(4)}
	}
	return r
}

// A server that refuses streams gets fewer concurrent requests. 256 lookups get few refusals,
// however the server announces its limit.
func TestFewRefusals(t *testing.T) {
	const lookups, atATime, most = 256, 64, 100
	late := map[time.Duration]func(*rdaptest.RawConn){100 * time.Millisecond: announce(4)}
	for name, server := range map[string]func() *rdaptest.RawH2{
		"never announced": func() *rdaptest.RawH2 {
			return &rdaptest.RawH2{MaxStreams: rdaptest.Unannounced, Accept: four}
		},
		"announced late": func() *rdaptest.RawH2 {
			return &rdaptest.RawH2{MaxStreams: rdaptest.Unannounced, Accept: four, After: late}
		},
		"no SETTINGS at first": func() *rdaptest.RawH2 {
			return &rdaptest.RawH2{First: func(*rdaptest.RawConn) {}, Accept: four, After: late}
		},
		"lowered": func() *rdaptest.RawH2 {
			return &rdaptest.RawH2{
				Request: func(c *rdaptest.RawConn, n int64) bool {
					if n == 50 {
						announce(4)(c)
					}
					return true
				},
				Accept: func(_ time.Duration, n int64) int {
					if n < 50 {
						return 100
					}
					return 4
				},
			}
		},
		"announced wrongly": func() *rdaptest.RawH2 {
			return &rdaptest.RawH2{MaxStreams: 4, Accept: func(time.Duration, int64) int { return 3 }}
		},
		"none at first, announced": func() *rdaptest.RawH2 { return opening(true) },
		"none at first":            func() *rdaptest.RawH2 { return opening(false) },
	} {
		for _, conns := range []int{1, pool.DefaultMaxHTTP2Conns} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				raw := server()
				raw.Latency = 2 * time.Millisecond
				s := rdaptest.Start(t, rdaptest.Config{Protocols: rdaptest.H2Only})
				s.SetConnRules(rdaptest.ConnRules{Raw: raw})
				p := newPool(t, s, pool.Config{MaxHTTP2Conns: conns})
				getAll(t, p, s, lookups, atATime)
				t.Logf("%d refused, %d connections", raw.Refused(), s.Counts().Connections)
				if n := raw.Refused(); n > most {
					t.Errorf("%d streams were refused, want at most %d", n, most)
				}
				if st := p.Stats(); st.Failed != 0 || st.Requests != lookups {
					t.Errorf("stats: %+v", st)
				}
			})
		}
	}
}

// Random refusals cost little more than the retries.
func TestRandomRefusals(t *testing.T) {
	t.Parallel() // the test mostly waits
	const lookups, atATime = 500, 64
	s := rdaptest.Start(t, rdaptest.Config{Protocols: rdaptest.H2Only})
	seeded := rand.New(rand.NewPCG(1, 2))
	refuse := make([]bool, 4*lookups)
	for i := range refuse {
		refuse[i] = seeded.IntN(10) == 0
	}
	s.SetConnRules(rdaptest.ConnRules{Raw: &rdaptest.RawH2{
		Latency: time.Millisecond, Refuse: func(n int64) bool { return refuse[n%int64(len(refuse))] },
	}})
	p := newPool(t, s, pool.Config{})
	getAll(t, p, s, lookups, atATime)
	t.Logf("%d requests for %d lookups, %d connections", s.Counts().Requests, lookups, s.Counts().Connections)
	if n := s.Counts().Requests; n > lookups*13/10 {
		t.Errorf("%d requests for %d lookups", n, lookups)
	}
	if st := p.Stats(); st.Failed != 0 {
		t.Errorf("stats: %+v", st)
	}
}
