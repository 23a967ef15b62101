package client_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rdapq/rdapq/bootstrap"
	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/limit"
	"github.com/rdapq/rdapq/pool"
)

// A reentrant is user code of every kind that calls back into the Client and the
// Pool that call it. It does nothing while it is called from itself.
type reentrant struct {
	limit.Store
	client *client.Client
	pool   *pool.Pool
	base   string
	query  client.Query
	inside atomic.Bool
	calls  [4]atomic.Int64 // of the handler, the store, the resolver and the event hook
}

const (
	callHandler = iota
	callStore
	callResolver
	callEvent
)

func (e *reentrant) back(kind int) {
	e.calls[kind].Add(1)
	if e.client == nil || !e.inside.CompareAndSwap(false, true) {
		return
	}
	defer e.inside.Store(false)
	e.client.Progress()
	if kind == callEvent {
		return // a hook of the Pool must not use it
	}
	e.pool.Stats()
	if e.calls[kind].Load()%50 == 1 {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_, _ = e.client.Lookup(ctx, e.query)
	}
}

func (e *reentrant) Enabled(context.Context, slog.Level) bool { return true }
func (e *reentrant) WithAttrs([]slog.Attr) slog.Handler       { return e }
func (e *reentrant) WithGroup(string) slog.Handler            { return e }
func (e *reentrant) Handle(context.Context, slog.Record) error {
	e.back(callHandler)
	return nil
}

func (e *reentrant) Load(name string) (limit.Budget, bool) {
	e.back(callStore)
	return e.Store.Load(name)
}

func (e *reentrant) Add(name string, b limit.Budget) {
	e.back(callStore)
	e.Store.Add(name, b)
}

func (e *reentrant) Flush() error {
	e.back(callStore)
	return e.Store.Flush()
}

func (e *reentrant) Resolve(context.Context, bootstrap.Question) (bootstrap.Answer, error) {
	e.back(callResolver)
	return bootstrap.Answer{URLs: []string{e.base}, Source: bootstrap.SourceOverride}, nil
}

// TestUserCodeMayCallBack: a Logger, a Store of limits, a Resolver and hooks may call
// the Client while it calls them, also when the temporary file cannot be used.
func TestUserCodeMayCallBack(t *testing.T) {
	t.Parallel() // it mostly waits
	s, _ := newCrowdServer(t, nil, client.Config{})
	e := &reentrant{Store: limit.NewMemory(), base: s.URL + "/", query: mustParse(t, client.TypeDomain, "other.example")}
	p, err := pool.New(pool.Config{
		TLS: &tls.Config{RootCAs: s.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}, AllowPrivate: true,
		OnEvent: func(pool.Event) { e.back(callEvent) },
	})
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(client.Config{
		Transport: p, Resolver: e, Budgets: e, Logger: slog.New(e), Jobs: 2, PerHost: 1,
		SpillDir: "/nowhere/at/all", Rates: map[string]limit.Rate{"127.0.0.1": {N: 100_000, Per: 64 * time.Millisecond}},
	})
	if err != nil {
		t.Fatal(err)
	}
	e.pool, e.client = p, c
	const names = 500
	texts := make([]string, names)
	for i := range texts {
		texts[i] = "name" + strconv.Itoa(i) + "-" + strings.Repeat("x", 50) + ".example"
	}
	done := make(chan map[client.Verdict]int)
	go func() {
		verdicts := make(map[client.Verdict]int)
		for r := range c.Batch(t.Context(), client.Inputs(slices.Values(texts))) {
			verdicts[r.Verdict]++
		}
		c.Close()
		p.Close()
		done <- verdicts
	}()
	select {
	case verdicts := <-done:
		if verdicts[client.Registered] != names {
			t.Errorf("%v", verdicts)
		}
	case <-time.After(2 * time.Minute):
		t.Fatalf("the batch hangs: %+v", fmt.Sprint(s.requests.Load()))
	}
	for kind := range e.calls {
		if e.calls[kind].Load() == 0 {
			t.Errorf("user code of kind %d was not called", kind)
		}
	}
}
