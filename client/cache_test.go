package client_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/rdaptest"
)

const maxAge = "max-age=3600"

func cacheControl(value string) rdaptest.Behaviour { return rdaptest.Header("Cache-Control", value) }

func TestCache(t *testing.T) {
	for _, tt := range []struct {
		name string
		mode client.CacheMode
		how  []rdaptest.Behaviour
		once bool // the server gets one request
	}{
		{"fresh", client.CacheAll, []rdaptest.Behaviour{cacheControl(maxAge)}, true},
		{"fresh for this user", client.CacheAll, []rdaptest.Behaviour{cacheControl("private, " + maxAge)}, true},
		{"not found", client.CacheAll, []rdaptest.Behaviour{rdaptest.Status(404), cacheControl(maxAge)}, true},
		{"moved", client.CacheAll, []rdaptest.Behaviour{rdaptest.Redirect(302, "/x/domain/alpha.example"), cacheControl(maxAge)}, true},
		{"silent", client.CacheAll, nil, false},
		{"not to be stored", client.CacheAll, []rdaptest.Behaviour{cacheControl("no-store, " + maxAge)}, false},
		{"old", client.CacheAll, []rdaptest.Behaviour{cacheControl(maxAge), rdaptest.Header("Age", "7200")}, false},
		{"other by everything", client.CacheAll, []rdaptest.Behaviour{cacheControl(maxAge), rdaptest.Header("Vary", "*")}, false},
		{"refused", client.CacheAll, []rdaptest.Behaviour{rdaptest.Status(403), cacheControl(maxAge)}, false},
		{"server failed", client.CacheAll, []rdaptest.Behaviour{rdaptest.Status(500), cacheControl(maxAge)}, false},
		{"no cache", client.CacheNone, []rdaptest.Behaviour{cacheControl(maxAge)}, false},
		{"default", "", []rdaptest.Behaviour{cacheControl(maxAge)}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, a := newPair(t, rdaptest.Config{Log: true}, client.Config{Cache: tt.mode, Attempts: 1})
			s.On("/domain/alpha.example", tt.how...)
			s.On("/x/*", cacheControl(maxAge))
			q := mustParse(t, "", "alpha.example")
			first, second := a.lookup(t, q), a.lookup(t, q)
			if first.Verdict != second.Verdict || first.Status != second.Status || string(first.Raw) != string(second.Raw) || first.FinalURL != second.FinalURL {
				t.Errorf("first %s, then %s", describe(first), describe(second))
			}
			if first.Cached || first.Attempts != 1 || second.Cached != tt.once || (second.Attempts == 0) != tt.once || (second.Conn.ConnID == 0) != tt.once {
				t.Errorf("cached %v, then %v after %d attempts over connection %d", first.Cached, second.Cached, second.Attempts, second.Conn.ConnID)
			}
			asked := 0
			for _, uri := range askedFor(s) {
				if uri == "/domain/alpha.example" {
					asked++
				}
			}
			if (asked == 1) != tt.once {
				t.Errorf("asked %d times", asked)
			}
		})
	}
}

// A stale response is revalidated, and reused after a 304.
func TestCacheRevalidates(t *testing.T) {
	s, a := newPair(t, rdaptest.Config{Log: true}, client.Config{Cache: client.CacheAll})
	q := mustParse(t, "", "alpha.example")
	path := "/domain/alpha.example"
	const date = "Sat, 14 Mar 2026 12:00:00 GMT"
	s.On(path, rdaptest.Header("ETag", `"one"`), rdaptest.Header("Last-Modified", date), rdaptest.JSON(domainWith("alpha.example")))
	first := a.lookup(t, q)
	s.On(path, rdaptest.Status(304), rdaptest.NoBody(), rdaptest.Header("ETag", `"one"`))
	second := a.lookup(t, q)
	if !second.Cached || second.Verdict != client.VerdictRegistered || second.Status != 200 || second.Attempts != 1 || second.Conn.ConnID == 0 || string(second.Raw) != string(first.Raw) {
		t.Errorf("still the same: %s, cached %v after %d attempts", describe(second), second.Cached, second.Attempts)
	}
	last := http.Header(s.Log()[1].Header)
	if last.Get("If-None-Match") != `"one"` || last.Get("If-Modified-Since") != date {
		t.Errorf("asked with %v", last)
	}
	// A 304 can make the cached response fresh again.
	s.On(path, rdaptest.Status(304), rdaptest.NoBody(), cacheControl(maxAge))
	a.lookup(t, q)
	if r := a.lookup(t, q); !r.Cached || r.Attempts != 0 || len(askedFor(s)) != 3 {
		t.Errorf("fresh again: %s, cached %v, %d requests", describe(r), r.Cached, len(askedFor(s)))
	}
}

func TestCacheReplaces(t *testing.T) {
	s, a := newPair(t, rdaptest.Config{Log: true}, client.Config{Cache: client.CacheAll})
	q := mustParse(t, "", "alpha.example")
	path := "/domain/alpha.example"
	s.On(path, rdaptest.Header("ETag", `"one"`), rdaptest.JSON(domainWith("alpha.example")))
	a.lookup(t, q)
	s.On(path, rdaptest.Header("ETag", `"two"`), rdaptest.JSON(`{"objectClassName":"domain","ldhName":"alpha.example","handle":"NEW"}`))
	if r := a.lookup(t, q); r.Cached || r.Summary().Handle != "NEW" {
		t.Errorf("%s, cached %v", describe(r), r.Cached)
	}
	s.On(path, rdaptest.Status(304), rdaptest.NoBody())
	if r := a.lookup(t, q); !r.Cached || r.Summary().Handle != "NEW" {
		t.Errorf("%s, cached %v", describe(r), r.Cached)
	}
	if tag := http.Header(s.Log()[2].Header).Get("If-None-Match"); tag != `"two"` {
		t.Errorf("asked with %s", tag)
	}
	// A 304 to an unconditional request is not a usable response.
	s.On("/domain/beta.example", rdaptest.Status(304), rdaptest.NoBody())
	if r := a.lookup(t, mustParse(t, "", "beta.example")); r.Verdict != client.VerdictFailed || client.ErrorOf(r).Code != client.CodeNotRDAP {
		t.Errorf("304 out of nowhere: %s", describe(r))
	}
}

// A response is also found by the URL of its self link. The link must be to the same server,
// and the URL must have no response of its own.
func TestCacheSelfLink(t *testing.T) {
	ca := newCA(t)
	s := rdaptest.Start(t, rdaptest.Config{CA: ca, Log: true})
	other := rdaptest.Start(t, rdaptest.Config{CA: ca, Log: true})
	a := newAsker(t, ca, client.Config{Resolver: urls{s.URL()}, Cache: client.CacheAll})
	answer := func(name, self string) []rdaptest.Behaviour {
		return []rdaptest.Behaviour{cacheControl(maxAge), rdaptest.JSON(domainWith(name, "self|"+rdapJSON+"|"+self))}
	}
	s.On("/domain/alpha.example", answer("alpha.example", s.URL()+"v2/domain/alpha.example")...)
	s.On("/domain/beta.example", answer("beta.example", other.URL()+"domain/beta.example")...)
	s.On("/domain/gamma.example", answer("alpha.example", s.URL()+"domain/alpha.example")...)
	for _, name := range []string{"alpha.example", "beta.example", "gamma.example"} {
		a.lookup(t, mustParse(t, "", name))
	}
	ask := func(server, name string) *client.Result {
		q := mustParse(t, "", name)
		q.Server = server
		return a.lookup(t, q)
	}
	if r := ask(s.URL()+"v2/", "alpha.example"); !r.Cached {
		t.Error("not found by its self link")
	}
	if r := ask(other.URL(), "beta.example"); r.Cached || len(askedFor(other)) != 1 {
		t.Error("one server speaks for another")
	}
	if r := ask(s.URL(), "alpha.example"); !r.Cached || !strings.Contains(string(r.Raw), "v2/domain") {
		t.Errorf("an answer was put in the place of another: %s", r.Raw)
	}
	s.On("/domain/delta.example", answer("delta.example", s.URL()+"domain/free.example")...)
	a.lookup(t, mustParse(t, "", "delta.example"))
	if r := ask(s.URL(), "free.example"); r.Cached || r.Verdict != client.VerdictNotFound {
		t.Errorf("a link to another name passes for its answer: %s", describe(r))
	}
}

func TestCacheBounds(t *testing.T) {
	for _, tt := range []struct {
		name string
		cfg  client.Config
		size int64
		kept int // number of the last ten responses that remain
	}{
		{"entries", client.Config{CacheEntries: 3}, 0, 3},
		{"bytes", client.Config{CacheBytes: 64 << 10}, 7 << 10, 8},
		{"giants", client.Config{CacheBytes: 64 << 10}, 9 << 10, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.cfg.Cache = client.CacheAll
			s, a := newPair(t, rdaptest.Config{}, tt.cfg)
			how := []rdaptest.Behaviour{cacheControl(maxAge)}
			if tt.size > 0 {
				how = append(how, rdaptest.Size(tt.size))
			}
			s.On("*", how...)
			ask := func(i int) *client.Result {
				return a.lookup(t, mustParse(t, "", fmt.Sprintf("name%d.example", i)))
			}
			for i := range 10 {
				ask(i)
			}
			kept := 0
			for i := 9; i >= 0 && ask(i).Cached; i-- {
				kept++
			}
			if kept != tt.kept {
				t.Errorf("%d are kept, want %d", kept, tt.kept)
			}
		})
	}
}

// By default, linked objects are cached, such as registrars that many domains share.
func TestCacheReferrals(t *testing.T) {
	for mode, want := range map[client.CacheMode]int{"": 1, client.CacheReferrals: 1, client.CacheAll: 1, client.CacheNone: 2} {
		registry, registrar, a := newReferrer(t, rdaptest.H1AndH2, client.Config{Cache: mode})
		registry.On("*", rdaptest.JSON(domainWith("alpha.example", "related|"+rdapJSON+"|"+registrar.URL())))
		registrar.On("*", cacheControl(maxAge))
		q := mustParse(t, "", "alpha.example")
		a.lookup(t, q)
		r := a.lookup(t, q)
		if g := r.Registrar; g == nil || g.Verdict != client.VerdictRegistered || g.Cached != (want == 1) {
			t.Errorf("%q: registrar %+v", mode, g)
		}
		if n := len(askedFor(registrar)); n != want || len(askedFor(registry)) != 2 {
			t.Errorf("%q: %d requests to the registrar, want %d; %d to the registry", mode, n, want, len(askedFor(registry)))
		}
	}
}

// A batch with a cache yields one result per input and requests each object once.
func TestCacheBatch(t *testing.T) {
	s, a := newPair(t, rdaptest.Config{Log: true}, client.Config{Cache: client.CacheAll, Jobs: 8})
	s.On("*", cacheControl(maxAge))
	var texts []string
	for i := range 50 {
		texts = append(texts, fmt.Sprintf("name%d.example", i))
	}
	for round, want := range []int{0, 50} {
		cached, all := 0, 0
		for r := range a.Batch(t.Context(), lines(texts...)).All() {
			all++
			if r.Verdict != client.VerdictRegistered {
				t.Errorf("%s", describe(r))
			}
			if r.Cached {
				cached++
			}
		}
		if all != 50 || cached != want || len(askedFor(s)) != 50 {
			t.Errorf("round %d: %d results, %d of them from the cache; %d requests", round, all, cached, len(askedFor(s)))
		}
	}
}
