package pool_test

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/pool"
)

// Two Pools share what they learn, and TLS sessions, in stores of the user.
func TestUserStores(t *testing.T) {
	for name, version := range map[string]uint16{"TLS 1.2": tls.VersionTLS12, "TLS 1.3": tls.VersionTLS13} {
		t.Run(name, func(t *testing.T) {
			s := rdaptest.Start(t, rdaptest.Config{MaxTLS: version})
			saw := handshakes(t, s)
			stores := newCallbackStores(func(string, string) {})
			config := pool.Config{Origins: stores, Sessions: callbackSessions{stores}, Trust: "test"}
			for _, run := range []struct {
				what          string
				full, resumed int64
			}{{"first", 1, 0}, {"second", 0, 1}, {"third", 0, 1}} {
				p := newPool(t, s, config)
				if _, err := get(t.Context(), p, domain(s, 1)); err != nil {
					t.Fatal(err)
				}
				p.Close() // waits for the stores
				saw(run.what, run.full, run.resumed)
			}
			if info := pool.DecodeOriginInfo(stores.origins["https://"+s.Addr()]); info.Protocol != "h2" {
				t.Errorf("the store has %+v", info)
			}
			// The pool ignores an invalid session that a store returns.
			for key := range stores.sessions {
				stores.sessions[key] = [][]byte{[]byte("invalid")}
			}
			stores.origins["https://"+s.Addr()] = []byte(`{"protocol":"h2"`)
			p := newPool(t, s, config)
			if _, err := get(t.Context(), p, domain(s, 1)); err != nil {
				t.Fatal(err)
			}
			saw("invalid data", 1, 0)
		})
	}
}

// badStores are stores whose calls all fail.
type badStores struct{ fail func(context.Context) error }

func (b badStores) Get(ctx context.Context, _ string) ([]byte, error) { return nil, b.fail(ctx) }
func (b badStores) Put(ctx context.Context, _ string, _ []byte) error { return b.fail(ctx) }

type badSessions struct{ fail func(context.Context) error }

func (b badSessions) Take(ctx context.Context, _ pool.SessionKey) ([]byte, error) {
	return nil, b.fail(ctx)
}

func (b badSessions) Put(ctx context.Context, _ pool.SessionKey, _ []byte) error { return b.fail(ctx) }

// logLines is a handler that keeps warnings.
type logLines struct {
	mu    sync.Mutex
	lines []string
}

func (l *logLines) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }
func (l *logLines) WithAttrs([]slog.Attr) slog.Handler               { return l }
func (l *logLines) WithGroup(string) slog.Handler                    { return l }
func (l *logLines) Handle(_ context.Context, r slog.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	r.Attrs(func(a slog.Attr) bool {
		l.lines = append(l.lines, r.Message+": "+a.Value.String())
		return true
	})
	return nil
}

// Stores that fail, panic or do not return fail no request. Each is reported once.
func TestFailingStores(t *testing.T) {
	down := errors.New("the database is down")
	for name, test := range map[string]struct {
		fail func(context.Context) error
		says string
	}{
		"error":         {func(context.Context) error { return down }, down.Error()},
		"panic":         {func(context.Context) error { panic(down) }, down.Error()},
		"hang":          {func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, context.DeadlineExceeded.Error()},
		"hang for long": {func(context.Context) error { time.Sleep(30 * time.Second); return down }, down.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			bothInMemory(t, func(t *testing.T, network *rdaptest.Network, protocols rdaptest.Protocols) {
				s := rdaptest.Start(t, rdaptest.Config{Network: network, Protocols: protocols})
				var log logLines
				p := newPool(t, s, pool.Config{
					Dial: network.Dial, Trust: "test", Logger: slog.New(&log),
					Origins: badStores{test.fail}, Sessions: badSessions{test.fail},
				})
				for i := range 4 {
					begin := time.Now()
					if _, err := get(t.Context(), p, domain(s, i)); err != nil {
						t.Fatal(err)
					}
					took, limit := time.Since(begin), time.Duration(0)
					if i == 0 {
						limit = 2 * time.Second // for the OriginStore, then for the SessionStore
					}
					if took > limit {
						t.Errorf("request %d took %v, want %v at most", i, took, limit)
					}
					p.CloseIdleConnections()
					time.Sleep(10 * time.Second)
				}
				p.Close()
				log.mu.Lock()
				defer log.mu.Unlock()
				if all := strings.Join(log.lines, "\n"); len(log.lines) != 2 || strings.Count(all, test.says) != 2 || strings.Count(all, "OriginStore") != 1 || strings.Count(all, "SessionStore") != 1 {
					t.Errorf("warnings:\n%s", all)
				}
			})
		})
	}
}
