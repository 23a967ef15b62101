package client_test

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rdapq/rdapq/bootstrap"
	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/limit"
	"github.com/rdapq/rdapq/pool"
)

// A caller is a kind of user code that the Client or the Pool calls.
type caller int

const (
	callHandler caller = iota
	callLoad
	callAdd
	callFlush
	callResolver
	callEvent
	callers
)

func (c caller) String() string {
	return [callers]string{"Logger", "Load", "Add", "Flush", "Resolver", "OnEvent"}[c]
}

// callbacks is user code of every kind, which calls back, but not recursively.
type callbacks struct {
	limit.Store
	bases  map[string]string // base URLs of names; "" stands for all other names
	back   atomic.Pointer[func(caller)]
	inside [callers]atomic.Bool
	calls  [callers]atomic.Int64 // number of calls back by kind
}

func (c *callbacks) call(by caller) {
	back := c.back.Load()
	if back == nil || !c.inside[by].CompareAndSwap(false, true) {
		return
	}
	defer c.inside[by].Store(false)
	c.calls[by].Add(1)
	(*back)(by)
}

func (c *callbacks) Enabled(context.Context, slog.Level) bool { return true }
func (c *callbacks) WithAttrs([]slog.Attr) slog.Handler       { return c }
func (c *callbacks) WithGroup(string) slog.Handler            { return c }
func (c *callbacks) Handle(context.Context, slog.Record) error {
	c.call(callHandler)
	return nil
}

func (c *callbacks) Load(ctx context.Context, name string) (limit.Budget, error) {
	c.call(callLoad)
	return c.Store.Load(ctx, name)
}

func (c *callbacks) Add(ctx context.Context, name string, b limit.Budget) error {
	c.call(callAdd)
	return c.Store.Add(ctx, name, b)
}

func (c *callbacks) Flush(ctx context.Context) error {
	c.call(callFlush)
	return c.Store.Flush(ctx)
}

func (c *callbacks) Resolve(_ context.Context, q bootstrap.Question) (bootstrap.Answer, error) {
	c.call(callResolver)
	base := c.bases[q.Name]
	if base == "" {
		base = c.bases[""]
	}
	return bootstrap.Answer{URLs: []string{base}, Source: bootstrap.SourceOverride}, nil
}

const connectedName = "connected.example"

// newCallbacks returns a Client and a Pool that call the user code of c, connected to
// the server of connectedName.
func newCallbacks(t *testing.T) (c *callbacks, a *client.Client, p *pool.Pool) {
	t.Helper()
	s, _ := newCrowdServer(t, nil, client.Config{})
	connected, _ := newCrowdServer(t, nil, client.Config{})
	c = &callbacks{Store: limit.NewMemory(), bases: map[string]string{"": s.URL + "/", connectedName: connected.URL + "/"}}
	roots := s.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs.Clone()
	roots.AddCert(connected.Certificate())
	p, err := pool.New(pool.Config{
		TLS: &tls.Config{RootCAs: roots}, AllowPrivate: true,
		OnEvent: func(pool.Event) { c.call(callEvent) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	a, err = client.New(client.Config{
		Transport: p, Resolver: c, Budgets: c, Logger: slog.New(c), Jobs: 2, PerHost: 1,
		SpillDir: "/nowhere/at/all", Rates: map[string]limit.Rate{"127.0.0.1": {N: 100_000, Per: 64 * time.Millisecond}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	if r, err := a.Lookup(t.Context(), mustParse(t, client.TypeDomain, connectedName)); err != nil {
		t.Fatal(describe(r))
	}
	return c, a, p
}

// callbackNames is the number of inputs, which is more than fit in memory with two jobs.
const callbackNames = 500

// runCallbackBatch runs a batch and closes the Client. It fails the test if the batch hangs.
func runCallbackBatch(t *testing.T, a *client.Client) (read int, verdicts map[client.Verdict]int) {
	t.Helper()
	inputs := func(yield func(client.Input, error) bool) {
		for i := range callbackNames {
			read++
			if !yield(client.Input{Line: int64(i + 1), Text: "name" + strconv.Itoa(i) + "-" + strings.Repeat("x", 50) + ".example"}, nil) {
				return
			}
		}
	}
	verdicts = make(map[client.Verdict]int)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for r := range a.Batch(t.Context(), inputs).All() {
			verdicts[r.Verdict]++
		}
		a.Close()
	}()
	select {
	case <-done:
		return read, verdicts
	case <-time.After(2 * time.Minute):
		t.Fatal("the batch hangs")
		return 0, nil
	}
}

// A Logger, a limit.Store, a Resolver and OnEvent call Progress, Stats, CloseIdleConnections,
// and Lookup at another connected server. They may do so even if the temporary file cannot be
// used.
func TestUserCodeMayCallBack(t *testing.T) {
	t.Parallel() // the test mostly waits
	c, a, p := newCallbacks(t)
	q := mustParse(t, client.TypeDomain, connectedName)
	var lookups [callers]atomic.Int64
	back := func(by caller) {
		a.Servers()
		p.Stats()
		p.CloseIdleConnections()
		if c.calls[by].Load()%50 != 1 {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		switch r, err := a.Lookup(ctx, q); {
		case err == nil:
			lookups[by].Add(1)
		case !gaveUp(r): // the batch was closed before the lookup
			t.Errorf("lookup by %v: %s", by, describe(r))
		}
	}
	c.back.Store(&back)
	if _, verdicts := runCallbackBatch(t, a); verdicts[client.VerdictRegistered] != callbackNames {
		t.Errorf("%v", verdicts)
	}
	for by := range callers {
		if c.calls[by].Load() == 0 {
			t.Errorf("%v was not called", by)
		}
		if by != callFlush && lookups[by].Load() == 0 { // Close calls Flush
			t.Errorf("%v made no lookup", by)
		}
	}
}

// Close returns when user code calls it, in a batch and in Close. It does not wait for
// that user code.
func TestUserCodeMayClose(t *testing.T) {
	t.Parallel() // the test mostly waits
	for by := range callers {
		t.Run(by.String(), func(t *testing.T) {
			t.Parallel() // the test mostly waits
			c, a, p := newCallbacks(t)
			var once sync.Once
			returned := make(chan struct{})
			back := func(now caller) {
				if now == by {
					once.Do(func() {
						if err := a.Close(); err != nil { // the wait has reached its limit
							t.Error(err)
						}
						p.Close()
						close(returned)
					})
				}
			}
			c.back.Store(&back)
			read, verdicts := runCallbackBatch(t, a)
			sum := 0
			for v, n := range verdicts {
				sum += n
				if v != client.VerdictRegistered && v != client.VerdictFailed {
					t.Errorf("%d are %s", n, v)
				}
			}
			if sum != read {
				t.Errorf("%d results of %d inputs", sum, read)
			}
			select {
			case <-returned:
			case <-time.After(time.Minute):
				t.Error("Close does not return")
			}
		})
	}
}
