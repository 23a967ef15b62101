package main

import (
	"context"
	"net/http"

	"github.com/rdapq/rdapq/bootstrap"
	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/measure"
	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/limit"
	"github.com/rdapq/rdapq/pool"
)

// demoQueries returns the queries of bench for the demo registry.
func demoQueries() []string { return rdaptest.DemoQueries(defaultBenchLookups) }

// checkBench checks the flags that bench shares with rdapq.
func (o *options) checkBench(args []string) error {
	o.color, o.jobs, o.perHost = "auto", 1, 1 // bench has its own version of these flags, or none
	if o.demo && len(args) == 0 && o.file == "" {
		args = []string{"courbu.re"} // check requires a query
	}
	return o.check(args)
}

// A target is the set of servers that bench measures.
type target struct {
	resolver *bootstrap.Resolver
	pool     pool.Config
	client   client.Config
	budgets  *limit.File // nil means not saved

	bootPool *pool.Pool // pool for IANA's files, whose connections count in no mode

	demo *rdaptest.Demo // demo registry; nil if bench measures servers on the network
	h3   *bootstrap.Resolver
}

// newTarget returns the target that the flags describe. It observes saved rate limits,
// but neither uses nor changes saved TLS sessions and protocols.
func (a *app) newTarget() (*target, error) {
	o := &a.opts
	t := &target{}
	t.client = client.Config{UserAgent: o.userAgent, Timeout: o.timeout, ConnectTimeout: o.net.connectTime, AllowHTTP: o.allowHTTP, Logger: a.logger()}
	var err error
	if t.pool, err = o.connections(t.client); err != nil {
		return nil, err
	}
	o.batch.configure(&t.client, o.file != "")
	if t.client.Credentials, err = a.credentials(); err != nil {
		return nil, err
	}
	a.setSecrets(t.client.Credentials)
	if o.insecure {
		a.warn("certificates are not verified (--insecure)")
	}
	boot := bootstrap.Config{IANAOnly: o.ianaOnly, Offline: o.offline, AllowHTTP: o.allowHTTP, AllowPrivate: o.net.allowPrivate, UserAgent: o.userAgent, Logger: a.logger(), Warn: a.warn}
	if o.demo {
		err = t.useDemo(&boot, o)
	} else if err = a.configureBootstrap(&boot); err == nil {
		t.budgets = a.openBudgets()
		if t.budgets != nil {
			t.client.Budgets = t.budgets
		}
	}
	if err == nil {
		t.bootPool, err = pool.New(t.pool)
	}
	if err == nil {
		boot.Client = &http.Client{Transport: t.bootPool.Guarded(), Timeout: o.timeout}
		t.resolver, err = bootstrap.New(boot)
	}
	if err != nil {
		t.close(context.Background())
		return nil, err
	}
	return t, nil
}

func (t *target) useDemo(boot *bootstrap.Config, o *options) error {
	demo, err := rdaptest.NewDemo(o.demoRTT)
	if err != nil {
		return noRunf(nil, "", "cannot start the demo registry: %w", err)
	}
	t.demo = demo
	boot.Files, boot.IANAOnly = bootFiles(demo.Registries()), true
	t.pool.TLS.RootCAs, t.pool.Trust = demo.CAPool(), "demo"
	t.pool.Proxy, t.pool.AllowPrivate = nil, true
	return nil
}

// bootFiles returns bootstrap files by registry.
func bootFiles(files map[string][]byte) map[bootstrap.Registry][]byte {
	out := make(map[bootstrap.Registry][]byte)
	for reg := bootstrap.RegistryDNS; reg <= bootstrap.RegistryObjectTags; reg++ {
		out[reg] = files[reg.String()]
	}
	return out
}

// setup returns the configuration for a mode.
func (t *target) setup(m measure.Mode) (measure.Setup, error) {
	s := measure.Setup{Pool: t.pool, Client: t.client}
	s.Client.Resolver = t.resolver
	why := unsupported(m)
	if t.demo != nil && why == "" {
		why = needsNetwork(m)
	}
	switch {
	case why != "":
		return s, &measure.UnavailableError{Reason: why}
	case t.demo == nil:
		return s, nil
	case m.HTTP != "3":
		s.Pool.Dial = t.demo.DialContext
		return s, nil
	}
	if t.h3 == nil {
		if err := t.demo.OfferH3(); err != nil {
			return s, &measure.UnavailableError{Reason: "the demo cannot offer HTTP/3: " + err.Error()}
		}
		r, err := bootstrap.New(bootstrap.Config{Files: bootFiles(t.demo.H3Registries()), IANAOnly: true})
		if err != nil {
			return s, err
		}
		t.h3 = r
	}
	s.Pool.Resolve, s.Client.Resolver = t.demo.H3Addresses(), t.h3
	return s, nil
}

func (t *target) close(ctx context.Context) {
	if t.budgets != nil {
		t.budgets.Close() // the next run learns an unsaved limit again
	}
	for _, r := range []*bootstrap.Resolver{t.resolver, t.h3} {
		if r == nil {
			continue
		}
		grace, cancel := context.WithTimeout(ctx, refreshGrace)
		_ = r.Wait(grace) // if the refresh is too slow, the next run retries it
		cancel()
		r.Close()
	}
	if t.bootPool != nil {
		t.bootPool.Close()
	}
	if t.demo != nil {
		t.demo.Close()
	}
}
