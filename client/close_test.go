package client_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rdapq/rdapq/bootstrap"
	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/rdaptest"
)

// gaveUp reports whether the caller or Close ended a lookup, before its first request or later.
func gaveUp(r *client.Result) bool {
	want := client.CodeCanceled
	if !r.Sent() {
		want = client.CodeNotSent
	}
	return errors.Is(r.Err(), want)
}

// closed fails the test unless r is the result of a lookup on a closed Client.
func closed(t *testing.T, r *client.Result) {
	t.Helper()
	if r.Verdict != client.VerdictFailed || !gaveUp(r) || !errors.Is(r.Err(), client.ErrClosed) {
		t.Errorf("%s: %v", describe(r), client.ErrorOf(r).Err)
	}
}

// Close ends waiting lookups. Later lookups fail too, even if the caller owns the
// Transport.
func TestCloseLookup(t *testing.T) {
	s, a := newPair(t, rdaptest.Config{}, client.Config{MaxWait: time.Hour})
	s.On("*", rdaptest.Status(429), rdaptest.RetryAfter("600"))
	results := make(chan *client.Result)
	for i := range 2 { // one lookup waits for a retry, the other for its turn
		go func() {
			r, _ := a.Client.Lookup(context.Background(), mustParse(t, "", "n"+strconv.Itoa(i)+".example"))
			results <- r
		}()
		if err := s.AwaitRequests(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}
	for range 2 {
		closed(t, <-results)
	}
	s.Clear()
	before := s.Counts().Requests
	closed(t, a.lookup(t, mustParse(t, "", "later.example")))
	for _, err := range a.Search(t.Context(), mustParse(t, "", "later.example")) {
		if !errors.Is(err, client.ErrClosed) {
			t.Errorf("search: %v", err)
		}
	}
	for r := range a.Batch(t.Context(), lines("later.example", "192.0.2.1")).All() {
		closed(t, r)
	}
	if n := s.Counts().Requests; n != before {
		t.Errorf("%d requests after Close", n-before)
	}
}

// Close inside the loop over a batch ends the batch, and every input has a result.
func TestCloseBatch(t *testing.T) {
	s, a := newPair(t, rdaptest.Config{}, client.Config{Jobs: 4})
	var texts []string
	for i := range 500 {
		texts = append(texts, "n"+strconv.Itoa(i)+".example")
	}
	var seen []int64
	batch := a.Batch(t.Context(), lines(texts...))
	for r := range batch.All() {
		seen = append(seen, r.Line)
		if len(seen) == 10 {
			a.Close()
		}
		if r.Verdict != client.VerdictRegistered {
			closed(t, r)
		}
	}
	if err := batch.Err(); !errors.Is(err, client.ErrUnfinished) || !errors.Is(err, client.ErrClosed) {
		t.Errorf("Err returns %v", err)
	}
	slices.Sort(seen)
	for i, line := range seen {
		if line != int64(i+1) {
			t.Fatalf("result %d is for line %d", i+1, line)
		}
	}
	if n := s.Counts().Requests; n > 30 {
		t.Errorf("%d requests, though the tenth result was followed by Close", n)
	}
}

// A lookup whose response is being read when the Client is closed returns ErrClosed. The error
// of the connection, and whether a retry would be possible, do not matter.
func TestCloseWhileReading(t *testing.T) {
	for _, attempts := range []int{1, 3} {
		began := make(chan struct{})
		s := newPlain(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, `{"objectClassName":`)
			_ = http.NewResponseController(w).Flush()
			began <- struct{}{}
			<-r.Context().Done()
		})
		newOne := func() *client.Client {
			c, err := client.New(client.Config{Attempts: attempts, AllowHTTP: true})
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
		c := newOne()
		q := mustParse(t, "", "alpha.example")
		q.Server = s
		result := make(chan *client.Result)
		go func() {
			r, _ := c.Lookup(t.Context(), q)
			result <- r
		}()
		<-began
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		closed(t, <-result)

		c = newOne()
		go func() {
			<-began
			c.Close()
		}()
		n := 0
		for r := range c.Batch(t.Context(), func(yield func(client.Input, error) bool) {
			yield(client.Input{Line: 1, Text: "alpha.example", Server: s}, nil)
		}).All() {
			closed(t, r)
			n++
		}
		if n != 1 {
			t.Errorf("%d results", n)
		}
	}
}

// A redirect that arrives after Close is not followed.
func TestCloseBeforeRedirect(t *testing.T) {
	s, a := newPair(t, rdaptest.Config{}, client.Config{})
	release := make(chan struct{})
	s.On("/domain/alpha.example", rdaptest.Until(release), rdaptest.Redirect(302, "/domain/beta.example"))
	result := make(chan *client.Result)
	go func() {
		r, _ := a.Client.Lookup(t.Context(), mustParse(t, "", "alpha.example"))
		result <- r
	}()
	if err := s.AwaitRequests(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	a.Close()
	close(release)
	closed(t, <-result)
	if n := s.Counts().Requests; n != 1 {
		t.Errorf("%d requests", n)
	}
}

// After Close, the Client does not call the Resolver, which may fetch files. The error is that
// the Client was closed, not that there is no server.
func TestCloseResolve(t *testing.T) {
	var resolved atomic.Int64
	resolver := resolverFunc(func(bootstrap.Question) (bootstrap.Answer, error) {
		resolved.Add(1)
		return bootstrap.Answer{}, bootstrap.ErrNoService
	})
	for _, cfg := range []client.Config{{}, {Resolver: resolver}} {
		c, err := client.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
		r, _ := c.Lookup(t.Context(), mustParse(t, "", "alpha.example"))
		closed(t, r)
		if _, err := c.Plan(t.Context(), lines("alpha.example", "beta.example")); !errors.Is(err, client.ErrClosed) {
			t.Errorf("plan: %v", err)
		}
		for r := range c.Batch(t.Context(), lines("alpha.example")).All() {
			closed(t, r)
		}
	}
	if n := resolved.Load(); n != 0 {
		t.Errorf("resolved %d times", n)
	}
}

// The error of a lookup wraps the cause of its context's end, before and after the
// request was sent.
func TestLookupCause(t *testing.T) {
	s, a := newPair(t, rdaptest.Config{}, client.Config{})
	s.On("*", rdaptest.Hang())
	for _, sent := range []bool{false, true} {
		why := errors.New("the service goes down")
		ctx, cancel := context.WithCancelCause(t.Context())
		if sent {
			go func() {
				defer cancel(why)
				if err := s.AwaitRequests(t.Context(), 1); err != nil {
					t.Error(err)
				}
			}()
		} else {
			cancel(why)
		}
		_, err := a.Client.Lookup(ctx, mustParse(t, "", "alpha.example"))
		if !errors.Is(err, why) || !errors.Is(err, context.Canceled) {
			t.Errorf("sent %t: %v", sent, err)
		}
	}
}
