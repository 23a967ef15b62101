package pool_test

import (
	"context"
	"net/http/httptrace"
	"slices"
	"testing"

	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/pool"
)

// The hooks of net/http/httptrace work as with http.Transport.
func TestHTTPTrace(t *testing.T) {
	for _, protocol := range []string{"http/1.1", "h2", "h3"} {
		t.Run(protocol, func(t *testing.T) {
			s, _ := rdaptest.StartH3(t, rdaptest.Config{}, rdaptest.H3Config{})
			p := newPool(t, s, pool.Config{Protocols: []string{protocol}})
			for i := range 2 {
				var calls []string
				var got httptrace.GotConnInfo
				ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
					GetConn: func(hostPort string) { calls = append(calls, "get "+hostPort) },
					GotConn: func(info httptrace.GotConnInfo) {
						calls = append(calls, "got")
						got = info
					},
				})
				a, err := get(ctx, p, domain(s, i))
				if err != nil {
					t.Fatal(err)
				}
				if want := []string{"get " + s.Addr(), "got"}; !slices.Equal(calls, want) {
					t.Errorf("request %d: %q, want %q", i, calls, want)
				}
				if got.Reused != a.trace.Reused || got.Reused != (i > 0) {
					t.Errorf("request %d: reused %t, by the trace %t", i, got.Reused, a.trace.Reused)
				}
				if remote := got.Conn.RemoteAddr().String(); remote != a.trace.RemoteAddr || got.Conn.LocalAddr() == nil {
					t.Errorf("request %d: to %s, by the trace %s", i, remote, a.trace.RemoteAddr)
				}
			}
			// Hooks may be nil.
			if _, err := get(httptrace.WithClientTrace(context.Background(), &httptrace.ClientTrace{}), p, domain(s, 2)); err != nil {
				t.Error(err)
			}
		})
	}
}
