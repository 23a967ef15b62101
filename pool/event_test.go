package pool_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/pool"
)

func newRequest(t *testing.T, url string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	return req
}

// pausedDial returns a dial function that waits until start is closed.
func pausedDial(network *rdaptest.Network, start <-chan struct{}) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, kind, address string) (net.Conn, error) {
		select {
		case <-start:
			return network.Dial(ctx, kind, address)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// eventsOf returns the events of a Pool while f uses it.
func eventsOf(t *testing.T, c pool.Config, f func(p *pool.Pool)) []pool.Event {
	t.Helper()
	var events []pool.Event
	c.OnEvent = func(e pool.Event) { events = append(events, e) }
	p, err := pool.New(c)
	if err != nil {
		t.Fatal(err)
	}
	f(p)
	p.Close() // waits for OnEvent
	return events
}

func TestEventsOfConnection(t *testing.T) {
	bothInMemory(t, func(t *testing.T, network *rdaptest.Network, protocols rdaptest.Protocols) {
		s := rdaptest.Start(t, rdaptest.Config{Network: network, Protocols: protocols})
		slow := func(ctx context.Context, kind, address string) (net.Conn, error) {
			time.Sleep(70 * time.Millisecond)
			return network.Dial(ctx, kind, address)
		}
		events := eventsOf(t, pool.Config{TLS: &tls.Config{RootCAs: s.Pool()}, Dial: slow}, func(p *pool.Pool) {
			if _, err := get(t.Context(), p, domain(s, 1)); err != nil {
				t.Fatal(err)
			}
		})
		if len(events) != 2 || events[0].Kind != pool.ConnOpened || events[1].Kind != pool.ConnClosed {
			t.Fatalf("%+v", events)
		}
		for _, e := range events {
			if e.RemoteAddr != s.Addr() || e.ConnID != 1 || e.Protocol == "" || e.Step != "" {
				t.Errorf("%s: %+v", e.Kind, e)
			}
		}
		if opened := events[0].Setup; opened < 70*time.Millisecond || events[1].Setup != 0 {
			t.Errorf("set-up took %v, want 70 ms at least; when closed %v", opened, events[1].Setup)
		}
	})
}

// The event of a failed dial has the step that failed.
func TestStepOfDialFailed(t *testing.T) {
	refuse := func(context.Context, string, string) (net.Conn, error) { return nil, syscall.ECONNREFUSED }
	for step, test := range map[pool.Step]struct {
		c      pool.Config
		lookup func(context.Context, string, string) ([]netip.Addr, error)
	}{
		pool.StepResolve: {lookup: func(_ context.Context, _, host string) ([]netip.Addr, error) {
			return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
		}},
		pool.StepConnect:   {c: pool.Config{Dial: refuse}},
		pool.StepHandshake: {}, // the certificate authority is not trusted
	} {
		t.Run(string(step), func(t *testing.T) {
			s := rdaptest.Start(t, rdaptest.Config{})
			url := domain(s, 1)
			if test.lookup != nil {
				url = strings.Replace(url, "127.0.0.1", "rdap.example", 1)
			}
			events := eventsOf(t, test.c, func(p *pool.Pool) {
				if test.lookup != nil {
					p.SetLookup(test.lookup)
				}
				if _, err := get(t.Context(), p, url); err == nil {
					t.Error("the request succeeded")
				}
			})
			i := slices.IndexFunc(events, func(e pool.Event) bool { return e.Kind == pool.DialFailed })
			if i < 0 || events[i].Step != step || events[i].Err == nil || events[i].ConnID != 0 || events[i].RemoteAddr != "" {
				t.Fatalf("%+v", events)
			}
			if e, ok := errors.AsType[*pool.Error](events[i].Err); !ok || e.Step != step {
				t.Errorf("error %v", events[i].Err)
			}
		})
	}
}
