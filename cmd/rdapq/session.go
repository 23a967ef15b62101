package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rdapq/rdapq/bootstrap"
	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/internal/render"
	"github.com/rdapq/rdapq/limit"
	"github.com/rdapq/rdapq/pool"
	"github.com/rdapq/rdapq/rdap"
)

// A session holds the pool, the resolver and the client of a run.
type session struct {
	pool     *pool.Pool
	resolver *bootstrap.Resolver
	client   *client.Client
	state    state
	demo     *rdaptest.Demo
	budgets  *limit.File   // nil means not saved
	grace    time.Duration // see refreshGrace
	follows  bool          // the client follows links, to servers unknown in advance
}

func (a *app) newSession() (*session, error) {
	o := &a.opts
	s := &session{grace: cmp.Or(a.grace, refreshGrace)}
	boot := bootstrap.Config{
		IANAOnly: o.ianaOnly, Offline: o.offline, AllowHTTP: o.allowHTTP, AllowPrivate: o.net.allowPrivate,
		UserAgent: o.userAgent, Logger: a.logger(), Warn: a.warn,
	}
	config := client.Config{
		UserAgent: o.userAgent, Timeout: o.timeout, ConnectTimeout: o.net.connectTime, Jobs: o.jobs, PerHost: o.ceiling, AllowHTTP: o.allowHTTP, Logger: a.logger(),
	}
	if o.file == "" {
		config.MaxMemory = promptMemory
	}
	conns, err := o.connections(config)
	if err != nil {
		return nil, err
	}
	registrars, err := o.referral.table()
	if err != nil {
		return nil, err
	}
	secrets, err := a.credentials()
	if err != nil {
		return nil, err
	}
	a.setSecrets(secrets)
	if o.insecure {
		a.warn("certificates are not verified (--insecure)")
	}
	if o.demo {
		if s.demo, err = rdaptest.NewDemo(o.demoRTT); err != nil {
			return nil, noRunf(nil, "", "cannot start the demo registry: %w", err)
		}
		boot.Files, boot.IANAOnly = make(map[bootstrap.Registry][]byte), true
		files := s.demo.Registries()
		for reg := bootstrap.RegistryDNS; reg <= bootstrap.RegistryObjectTags; reg++ {
			boot.Files[reg] = files[reg.String()]
		}
		conns.Dial, conns.TLS.RootCAs = s.demo.DialContext, s.demo.CAPool()
		conns.Proxy, conns.AllowPrivate = nil, true
	} else {
		if err := a.configureBootstrap(&boot); err != nil {
			return nil, err
		}
		s.state = a.openState(&conns)
		s.budgets = a.openBudgets()
	}
	if s.pool, err = pool.New(conns); err == nil {
		// IANA's files use the same Pool, so that --proxy, --resolve, --ca and the other
		// network flags apply to every connection.
		boot.Client = &http.Client{Transport: s.pool.Guarded(), Timeout: o.timeout}
		if s.resolver, err = bootstrap.New(boot); err == nil {
			config.Transport, config.Resolver = s.pool, s.resolver
			config.Credentials = secrets
			if config.Logger == nil {
				config.Logger = slog.New(warningHandler{a.warn})
			}
			config.Languages, _ = rdap.ParseLanguages(o.view.lang) // check has already validated the languages
			o.batch.configure(&config, o.file != "")
			if s.budgets != nil {
				config.Budgets = s.budgets
			}
			o.search.configure(&config)
			o.referral.configure(&config, o.file != "", o.outputFormat(), o.batch.fields)
			config.RegistrarURLs, config.OnHold = registrars, a.onHold
			s.follows = config.Referral == client.ReferralRegistrar || len(config.Related) > 0
			s.client, err = client.New(config)
		}
	}
	if err != nil {
		s.close(context.Background())
		return nil, usagef(nil, "", "%w", err)
	}
	return s, nil
}

// connections returns the pool configuration of the flags. Without flags, the configuration is
// that of a zero [client.Config].
func (o *options) connections(c client.Config) (pool.Config, error) {
	conns := c.PoolConfig()
	conns.MaxConnsPerHost = o.conns
	if err := o.trust(&conns); err != nil {
		return conns, err
	}
	return conns, o.net.apply(&conns)
}

// promptMemory limits the bytes of response bodies that are in memory at a time with arguments,
// because some servers send endless responses.
const promptMemory = 4 << 20

// refreshGrace is how long a run waits at its end for a refresh of IANA's files. Without that
// wait, short runs would never refresh the files.
const refreshGrace = time.Second

// close releases the session. It waits for a running refresh until ctx ends. It returns an
// error if server state could not be saved; the next run learns such state again.
func (s *session) close(ctx context.Context) error {
	if s.client != nil {
		s.client.Close()
	}
	if s.resolver != nil {
		grace, cancel := context.WithTimeout(ctx, s.grace)
		_ = s.resolver.Wait(grace) // if the refresh is too slow, the next run retries it
		cancel()
		s.resolver.Close()
	}
	if s.pool != nil {
		s.pool.Close()
	}
	err := s.save()
	if s.demo != nil {
		s.demo.Close()
	}
	return err
}

// save writes the server state. It writes the files concurrently, because each write may wait
// for a lock.
func (s *session) save() error {
	var files []io.Closer
	if s.budgets != nil {
		files = append(files, s.budgets)
	}
	if s.state.sessions != nil {
		files = append(files, s.state.sessions)
	}
	if s.state.origins != nil {
		files = append(files, s.state.origins)
	}
	errs := make([]error, len(files))
	var saves sync.WaitGroup
	for i, f := range files {
		saves.Go(func() { errs[i] = f.Close() })
	}
	saves.Wait()
	return errors.Join(errs...)
}

// finish closes the session. With --verbose it warns about state that could not be
// saved.
func (a *app) finish(ctx context.Context, s *session) {
	err := s.close(ctx)
	if err == nil || a.opts.verbose == 0 {
		return
	}
	a.warn("not saved for the next run: " + strings.ReplaceAll(err.Error(), "\n", "; "))
}

// limited reports whether a rate limit of a server delayed lookups.
func (s *session) limited() bool {
	return slices.ContainsFunc(s.client.Servers(), func(one client.ServerProgress) bool {
		return !one.Rate.IsZero() && one.Done > int64(one.Rate.N)
	})
}

// configureBootstrap sets the data sources of the resolver.
func (a *app) configureBootstrap(boot *bootstrap.Config) error {
	o := &a.opts
	if o.server != "" {
		base, err := serverURL(o.server, o.allowHTTP)
		if err != nil {
			return err
		}
		boot.Server = base
		return nil
	}
	if o.overrides != "" {
		f, err := os.Open(o.overrides)
		if err != nil {
			return usagef(about("bootstrap-overrides"), "", "cannot read --bootstrap-overrides: %w", err)
		}
		defer f.Close()
		if boot.Overrides, err = bootstrap.ParseOverrides(f); err != nil {
			return usagef(about("bootstrap-overrides"), "", "%s: %w", o.overrides, err)
		}
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		what := "IANA's files are not saved between runs"
		if _, err := stateDir(); err != nil {
			what, a.warnedUnsaved = "nothing is saved between runs", true
		}
		a.warn("no home directory: " + what)
		return nil
	}
	boot.Dir = filepath.Join(dir, "rdapq")
	return nil
}

// serverURL parses --server: a base URL, or a host name for https.
func serverURL(text string, allowHTTP bool) (string, error) {
	if !strings.Contains(text, "://") {
		text = "https://" + text + "/"
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return "", usagef(about("server"), "use a base URL such as https://rdap.example/", "invalid value %q for --server", text)
	case u.User != nil:
		return "", usagef(about("server"), "put a line \""+u.Scheme+"://"+u.Host+" basic USER:PASSWORD\" in ~/.config/rdapq/credentials or in $"+credentialsVariable,
			"--server must not contain a user name or password: command lines are visible to other users")
	case u.Scheme == "http" && !allowHTTP:
		return "", usagef(about("server"), "use https, or add --allow-http", "--server %s is not encrypted", text)
	}
	return text, nil
}

// warn prints a warning.
func (a *app) warn(text string) {
	if !a.opts.quiet {
		fmt.Fprintf(a.stderr, "rdapq: warning: %s\n", render.Safe(text))
	}
}

// A warningHandler is a log handler that prints warnings of the library like those of the
// command, and nothing else.
type warningHandler struct{ warn func(string) }

func (w warningHandler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn
}
func (w warningHandler) WithAttrs([]slog.Attr) slog.Handler { return w }
func (w warningHandler) WithGroup(string) slog.Handler      { return w }

func (w warningHandler) Handle(_ context.Context, r slog.Record) error {
	var b strings.Builder
	b.WriteString(r.Message)
	r.Attrs(func(a slog.Attr) bool {
		b.WriteString(" (" + a.Key + ": " + a.Value.String() + ")")
		return true
	})
	w.warn(b.String())
	return nil
}
