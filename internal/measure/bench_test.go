package measure_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rdapq/rdapq/bootstrap"
	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/measure"
	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/pool"
)

// nowhere resolves no server, because queries name their servers.
type nowhere struct{}

func (nowhere) Resolve(context.Context, bootstrap.Question) (bootstrap.Answer, error) {
	return bootstrap.Answer{}, bootstrap.ErrNoService
}

func queries(t *testing.T, s *rdaptest.Server, n int) []client.Query {
	t.Helper()
	out := make([]client.Query, n)
	for i := range out {
		q, err := client.Parse(fmt.Sprintf("alpha%d.example", i))
		if err != nil {
			t.Fatal(err)
		}
		q.Server = s.URL()
		out[i] = q
	}
	return out
}

func config(t *testing.T, s *rdaptest.Server, names ...string) measure.Config {
	t.Helper()
	modes, err := measure.ParseModes(names)
	if err != nil {
		t.Fatal(err)
	}
	return measure.Config{
		Queries: queries(t, s, 3), Modes: modes, Lookups: 6, Runs: 3, Jobs: 2, Resolver: nowhere{},
		Setup: func(measure.Mode) (measure.Setup, error) {
			return measure.Setup{
				Pool:   pool.Config{TLS: &tls.Config{RootCAs: s.Pool()}, Trust: "test", AllowPrivate: true},
				Client: client.Config{Resolver: nowhere{}},
			}, nil
		},
	}
}

// TestInterleaving checks that runs of the modes are interleaved after a warm-up of each mode,
// and that each mode is first in one round.
func TestInterleaving(t *testing.T) {
	s := rdaptest.Start(t, rdaptest.Config{})
	c := config(t, s, "reuse", "no-reuse")
	var order []string
	c.Progress = func(mode string, run int) { order = append(order, fmt.Sprint(mode, " ", run)) }
	r, err := measure.Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"reuse 0", "no-reuse 0", "reuse 1", "no-reuse 1", "no-reuse 2", "reuse 2", "reuse 3", "no-reuse 3"}
	if !slices.Equal(order, want) {
		t.Errorf("%v, want %v", order, want)
	}
	// Duplicate queries are not coalesced.
	if n := s.Counts(); n.Requests != 2*(1+3*6) || int(n.Requests) != r.Settings.LookupsInAll || n.Connections != 4+1+18 {
		t.Errorf("the server saw %d requests over %d connections, bench says %d lookups in all", n.Requests, n.Connections, r.Settings.LookupsInAll)
	}
	if r.RTT.MS <= 0 || r.RTT.Source != "fastest TCP handshake" || len(r.Modes) != 2 || len(r.Modes[0].Waterfall) != 6 || r.Modes[0].RoundTrips.Counted < 1 || r.Modes[0].RoundTrips.Measured.Max != 0 && r.RTT.MS < 1 {
		t.Errorf("%+v", r)
	}
	if got := r.Modes[0].Servers; len(got) != 1 || got[0].Server != s.URL() || got[0].Lookups != 6 || got[0].Verdicts["registered"] != 6 {
		t.Errorf("%+v", got)
	}
}

// TestUnanswered checks that failed lookups are reported and that no difference is
// significant.
func TestUnanswered(t *testing.T) {
	s := rdaptest.Start(t, rdaptest.Config{Conn: rdaptest.ConnRules{Refuse: true}})
	r, err := measure.Run(t.Context(), config(t, s, "reuse", "no-reuse"))
	if err != nil {
		t.Fatal(err)
	}
	if m := r.Modes[0]; m.Unanswered != 18 || m.Connections.Max != 0 || m.Runs[0].Unanswered != 6 || m.RoundTrips.Counted != 0 {
		t.Errorf("%+v", m)
	}
	// The reset may occur during the handshake or while connecting.
	if r.Comparisons[0].Significant || len(r.Notes) != 1 || !strings.HasPrefix(r.Notes[0], "36 lookups got no response; the first error: no ") ||
		!strings.Contains(r.Notes[0], "connection to "+s.Addr()) {
		t.Errorf("%+v, %q", r.Comparisons, r.Notes)
	}
}

func TestUnavailable(t *testing.T) {
	s := rdaptest.Start(t, rdaptest.Config{})
	c := config(t, s, "reuse", "h2")
	setup := c.Setup
	c.Setup = func(m measure.Mode) (measure.Setup, error) {
		if m.HTTP == "2" {
			return measure.Setup{}, &measure.UnavailableError{Reason: "no"}
		}
		return setup(m)
	}
	r, err := measure.Run(t.Context(), c)
	if err != nil || len(r.Modes) != 1 || !slices.Equal(r.Skipped, []measure.Skipped{{Mode: "h2", Reason: "no"}}) {
		t.Errorf("%+v, %v", r, err)
	}
	broken := errors.New("broken")
	c.Setup = func(measure.Mode) (measure.Setup, error) { return measure.Setup{}, broken }
	if _, err := measure.Run(t.Context(), c); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

func TestCanceled(t *testing.T) {
	s := rdaptest.Start(t, rdaptest.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	c := config(t, s, "reuse")
	c.Progress = func(_ string, run int) {
		if run == 2 {
			cancel()
		}
	}
	if _, err := measure.Run(ctx, c); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestPolite checks that no server gets more than PoliteLookups.
func TestPolite(t *testing.T) {
	a := rdaptest.Start(t, rdaptest.Config{})
	b := rdaptest.Start(t, rdaptest.Config{})
	one := queries(t, a, 5)
	both := append(queries(t, a, 3), queries(t, b, 3)...)
	for name, tt := range map[string]struct {
		queries       []client.Query
		modes         int
		lookups, runs int
	}{
		"two modes":   {one, 2, 3, 3},
		"one mode":    {one, 1, 6, 3},
		"two servers": {both, 2, 6, 3},
		"many modes":  {one, 8, 1, 1},
		"too many":    {one, 11, 0, 0},
	} {
		lookups, runs := measure.Polite(t.Context(), nowhere{}, tt.queries, tt.modes)
		if lookups != tt.lookups || runs != tt.runs {
			t.Errorf("%s: %d lookups, %d runs; want %d and %d", name, lookups, runs, tt.lookups, tt.runs)
		}
	}
	c := config(t, a, "reuse", "no-reuse")
	c.Lookups, c.Runs = measure.Polite(t.Context(), nowhere{}, c.Queries, len(c.Modes))
	if _, err := measure.Run(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if n := a.Counts().Requests; n != measure.PoliteLookups {
		t.Errorf("the server got %d lookups, of %d", n, measure.PoliteLookups)
	}
}
