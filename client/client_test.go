package client_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"testing"

	"github.com/rdapq/rdapq/bootstrap"
	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/internal/testrun"
	"github.com/rdapq/rdapq/pool"
)

// An asker is a test's Client with the settings that it needs to reach test servers.
type asker struct {
	*client.Client
	pool *pool.Pool
}

// urls is a resolver that returns the same service for every query.
type urls []string

func (u urls) Resolve(context.Context, bootstrap.Question) (bootstrap.Answer, error) {
	return bootstrap.Answer{Entry: "test", URLs: u, Source: bootstrap.SourceOverride}, nil
}

// A resolverFunc is a function that implements Resolver.
type resolverFunc func(bootstrap.Question) (bootstrap.Answer, error)

func (f resolverFunc) Resolve(_ context.Context, q bootstrap.Question) (bootstrap.Answer, error) {
	return f(q)
}

// newAsker returns a client that trusts ca and connects to any address.
func newAsker(t testing.TB, ca *rdaptest.CA, cfg client.Config) asker {
	t.Helper()
	return newNetworkAsker(t, nil, ca, cfg)
}

// newNetworkAsker returns a client as newAsker does. If network is not nil, its connections are
// in network.
func newNetworkAsker(t testing.TB, network *rdaptest.Network, ca *rdaptest.CA, cfg client.Config) asker {
	t.Helper()
	transport := pool.Config{
		TLS: &tls.Config{RootCAs: ca.Pool()}, MaxConnsPerHost: 64, AllowPrivate: true, ConnectTimeout: cfg.ConnectTimeout,
	}
	if network != nil {
		transport.Dial = network.Dial
	}
	p, err := pool.New(transport)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	if cfg.Transport == nil {
		cfg.Transport = p
	}
	c, err := client.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return asker{c, p}
}

// bubble runs a parallel subtest in a bubble of testing/synctest. Its servers must be in a
// rdaptest.Network. Timers expire in order, however loaded the machine is.
func bubble(t *testing.T, name string, f func(*testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		testrun.Bubble(t, f)
	})
}

// newCA returns a certificate authority for the servers of one test.
func newCA(t testing.TB) *rdaptest.CA {
	t.Helper()
	ca, err := rdaptest.NewCA()
	if err != nil {
		t.Fatal(err)
	}
	return ca
}

// newPair starts a server and returns it with a client that sends it every query.
func newPair(t testing.TB, server rdaptest.Config, cfg client.Config) (*rdaptest.Server, asker) {
	t.Helper()
	s := rdaptest.Start(t, server)
	if cfg.Resolver == nil {
		cfg.Resolver = urls{s.URL()}
	}
	return s, newNetworkAsker(t, server.Network, s.CA(), cfg)
}

func mustParse(t testing.TB, typ client.Type, text string) client.Query {
	t.Helper()
	q, err := client.ParseAs(typ, text)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// lookup runs a lookup and checks the invariants of every result.
func (a asker) lookup(t testing.TB, q client.Query) *client.Result {
	t.Helper()
	r, err := a.Lookup(t.Context(), q)
	checkResult(t, r)
	if (err == nil) != r.Verdict.Answered() {
		t.Errorf("%s: verdict %s with error %v", q, r.Verdict, err)
	}
	if err != r.Err() {
		t.Errorf("%s: error %v is not the result's %v", q, err, r.Err())
	}
	return r
}

func checkResult(t testing.TB, r *client.Result) {
	t.Helper()
	if r.Verdict == "" || r.Time.IsZero() || r.Elapsed < 0 {
		t.Errorf("unfinished result %+v", r)
	}
	e := client.ErrorOf(r)
	if positive := r.Verdict == client.VerdictRegistered || r.Verdict == client.VerdictFound; positive != (e == nil) {
		t.Errorf("%s: verdict %s with error %v", r.Query, r.Verdict, e)
	}
	if (r.Err() == nil) != r.Verdict.Answered() {
		t.Errorf("%s: verdict %s, but Err returns %v", r.Query, r.Verdict, r.Err())
	}
	if r.Refusal != nil && (r.Failure != nil || r.Refusal.Status == 0) || r.Verdict == client.VerdictNotFound && r.Refusal == nil {
		t.Errorf("%s: verdict %s, refusal %+v, failure %+v", r.Query, r.Verdict, r.Refusal, r.Failure)
	}
	if sent := r.Sent(); errors.Is(r.Err(), client.CodeNotSent) && sent || errors.Is(r.Err(), client.CodeCanceled) && !sent && !r.Shared {
		t.Errorf("%s: %v after %d requests", r.Query, r.Err(), r.Attempts)
	}
	if e != nil && (e.Message == "" || e.Code == "") {
		t.Errorf("%s: empty error %+v", r.Query, e)
	}
}

func describe(r *client.Result) string {
	code, message := client.Code(""), ""
	if e := client.ErrorOf(r); e != nil {
		code, message = e.Code, e.Message
	}
	return fmt.Sprintf("%s %d %s %q, warnings %q", r.Verdict, r.Status, code, message, r.Warnings)
}
