package client

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/rdapq/rdapq/bootstrap"
	"github.com/rdapq/rdapq/limit"
)

// fewZones is a resolver with three zones.
type fewZones struct{ byLabel }

func (z fewZones) Resolve(ctx context.Context, q bootstrap.Question) (bootstrap.Answer, error) {
	a, err := z.byLabel.Resolve(ctx, q)
	if a.Entry != "one" && a.Entry != "two" && a.Entry != "three" {
		return bootstrap.Answer{}, bootstrap.ErrNoService
	}
	return a, err
}

func TestPlan(t *testing.T) {
	c, err := New(Config{Resolver: fewZones{}, Rates: map[string]limit.Rate{"two.example": {N: 10, Per: time.Minute}}, Jobs: 16})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	broken := errors.New("disk on fire")
	inputs := func(yield func(Input, error) bool) {
		line := int64(0)
		add := func(text string, err error) bool {
			line++
			return yield(Input{Line: line, Text: text}, err)
		}
		for i := range 1600 {
			if !add("name"+strconv.Itoa(i)+".one", nil) {
				return
			}
		}
		for i := range 31 {
			if !add("name"+strconv.Itoa(i)+".two", nil) || !add("NAME"+strconv.Itoa(i)+".two.", nil) {
				return
			}
		}
		_ = add("a.zz", nil) && add("b.zz", nil) && add("c.yy", nil) && add("no name", nil) && add("", broken) && add("a.three", nil)
	}
	p, err := c.Plan(t.Context(), inputs)
	if err != nil {
		t.Fatal(err)
	}
	if p.Lines != 1668 || p.Queries != 1663 || p.Duplicates != 31 || p.Approximate || p.Invalid != 2 {
		t.Errorf("%+v", p)
	}
	if len(p.Unsupported) != 2 || p.Unsupported[0] != (PlanZone{".zz", 2}) || p.Unsupported[1] != (PlanZone{".yy", 1}) {
		t.Errorf("%+v", p.Unsupported)
	}
	if len(p.Errors) != 2 || p.Errors[0].Line != 1666 || p.Errors[0].Text != "no name" || p.Errors[0].Failure.Code != CodeInvalid || !errors.Is(p.Errors[1].Failure, broken) {
		t.Errorf("%+v", p.Errors)
	}
	want := []PlanServer{
		// the limit grows from 8 to 16 requests at a time
		{Server: "one.example", Lines: 1600, Queries: 1600, Time: 10500 * time.Millisecond},
		{Server: "two.example", Lines: 62, Queries: 62, Rate: limit.Rate{N: 10, Per: time.Minute}, Time: 6 * time.Minute},
		{Server: "three.example", Lines: 1, Queries: 1, Time: planLatency},
	}
	if len(p.Servers) != len(want) {
		t.Fatalf("%+v", p.Servers)
	}
	for i := range want {
		if p.Servers[i] != want[i] {
			t.Errorf("%+v, want %+v", p.Servers[i], want[i])
		}
	}
	if p.Time != 6*time.Minute || p.Latency != planLatency {
		t.Errorf("takes %v", p.Time)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Plan(ctx, inputs); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}

// A fourOnly transport supports four concurrent requests to one origin, and any number of
// requests to other origins.
type fourOnly struct {
	http.RoundTripper
	origin string
}

func (f fourOnly) Capacity(origin string, demand int) int {
	if origin == f.origin {
		return min(demand, 4)
	}
	return demand
}

func addBudget(t *testing.T, s limit.Store, name string, b limit.Budget) {
	t.Helper()
	if err := s.Add(t.Context(), name, b); err != nil {
		t.Fatal(err)
	}
}

// A plan uses data from earlier runs: response times, protocols, and learned limits.
func TestPlanKnown(t *testing.T) {
	store, now := limit.NewMemory(), time.Now()
	addBudget(t, store, "one.example", limit.Budget{Took: 20 * time.Millisecond, Measured: now})
	addBudget(t, store, "two.example", limit.Budget{Took: 200 * time.Millisecond, Measured: now})
	addBudget(t, store, "three.example", limit.Budget{Learned: limit.Rate{N: 20, Per: 2 * time.Second}, Seen: now})
	c, err := New(Config{Resolver: fewZones{}, Budgets: store, PerHost: 10, Transport: fourOnly{http.DefaultTransport, "https://two.example"}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	p, err := c.Plan(t.Context(), func(yield func(Input, error) bool) {
		for i := range 300 {
			zone := []string{"one", "two", "three"}[i%3]
			if !yield(Input{Line: int64(i + 1), Text: "name" + strconv.Itoa(i) + "." + zone}, nil) {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]PlanServer{
		"one.example":   {Latency: 20 * time.Millisecond, Time: 200 * time.Millisecond},
		"two.example":   {Latency: 200 * time.Millisecond, Time: 5 * time.Second},
		"three.example": {Rate: limit.Rate{N: 20, Per: 2 * time.Second}, Time: 8 * time.Second},
	}
	for _, s := range p.Servers {
		w := want[s.Server]
		w.Server, w.Lines, w.Queries = s.Server, 100, 100
		if s != w {
			t.Errorf("%+v, want %+v", s, w)
		}
	}
	if p.Time != 8*time.Second {
		t.Errorf("takes %v", p.Time)
	}
}
