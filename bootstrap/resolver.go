package bootstrap

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rdapq/rdapq/internal/callback"
)

// A Resolver finds servers. It is safe for concurrent use; make it with [New].
type Resolver struct {
	server    []string // nil unless one server answers everything
	overrides *table   // nil without
	unlisted  *table   // nil when turned off
	holders   [registries]holder
	taken     func() time.Time // see snapshotTaken

	baseURL   string
	offline   bool
	given     bool // the files were given: see Config.Files
	allowHTTP bool
	patience  time.Duration // fallbackWait, but in tests
	cache     cache
	client    *http.Client
	userAgent string
	closeIdle func() // nil when the client is the caller's
	log       *slog.Logger
	now       func() time.Time

	ctx    context.Context // of the refreshes; they outlive the lookup that began them
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu     sync.Mutex // guards closed and the start of refreshes
	closed bool

	warnMu   sync.Mutex // guards what follows, but not warn
	warned   map[trouble]bool
	warnings []string // for which warn is to be called
	warning  bool     // a goroutine calls warn
	warn     func(string)
}

// A holder keeps what is known of one registry.
type holder struct {
	registry Registry
	load     sync.Mutex                // held while current is set for the first time
	current  atomic.Pointer[edition]   // what lookups use; nil until the first
	retry    atomic.Pointer[time.Time] // when to fetch next; set with current
	flight   atomic.Pointer[flight]    // the refresh that runs; nil without
	failure  atomic.Pointer[failure]   // why the last refresh failed; nil when it did not
	iana     atomic.Pointer[download]  // what IANA sent last; nil before
}

// A flight is a refresh that runs, for everybody who waits for it.
type flight struct{ done chan struct{} }

// A failure is why the last refresh came to nothing.
type failure struct{ err error }

// fallbackWait bounds the wait for a file when there is an answer without it,
// if not the best one.
const fallbackWait = 5 * time.Second

// Resolve names the servers for a question. The user's word counts first
// ([Config.Server], then [Config.Overrides]), then IANA's file, then the
// snapshot where there is no file or an older one, then the built-in list of
// what IANA lacks; [Answer.Source] says which it was.
//
// It waits for the network only when the copy at hand knows no server and is
// due to be refreshed; ctx bounds that wait, not the refresh. An old copy that
// knows a server answers at once and is refreshed beside it. The snapshot is an
// old copy of IANA's files only: where [Config.BaseURL] names others, it serves
// when these cannot be had.
//
// The root and top-level domains themselves have their records at IANA's own server,
// which IANA's files do not list: the answer has SourceUnlisted. Config.Server,
// Config.Overrides and Config.Files go before that rule.
//
// Errors are a [*NoServiceError], a [*HTTPOnlyError], a [*NotTopLevelError],
// [ErrBadReverseName], the error of ctx, or about a question that is none.
func (r *Resolver) Resolve(ctx context.Context, q Question) (Answer, error) {
	if r.server != nil {
		return Answer{URLs: r.server, Source: SourceServer}, nil
	}
	to, err := newTarget(q)
	if err != nil {
		return Answer{}, err
	}
	if r.overrides != nil {
		if e := r.override(&to); e != nil {
			return Answer{Entry: e.key, URLs: e.urls, Source: SourceOverride}, nil
		}
	}
	h := &r.holders[to.registry]
	ed := r.edition(h)
	if !r.given && q.isTopLevel(&to) {
		if r.isDelegated(to.name, ed.table) || specialUse[to.name] {
			r.refresh(h)
			return r.topLevelAnswer(h, ed, &to, q)
		}
		return r.resolveFresh(ctx, h, &to, q, false)
	}
	e := ed.table.find(&to)
	if e == nil || r.standsIn(ed) {
		return r.resolveFresh(ctx, h, &to, q, e != nil)
	}
	r.refresh(h)
	return ed.answer(&to, e)
}

// standsIn tells whether a copy is the snapshot in the place of files that it
// is no copy of.
func (r *Resolver) standsIn(ed *edition) bool {
	return ed.source == SourceSnapshot && r.baseURL != DefaultBaseURL && !r.offline
}

func (r *Resolver) override(to *target) *entry {
	e := r.overrides.find(to)
	if e == nil && to.prefix.IsValid() && to.name != "" {
		e = r.overrides.suffix(to.name) // a reverse name
	}
	return e
}

// answer turns a match into an answer.
func (ed *edition) answer(to *target, e *entry) (Answer, error) {
	if len(e.urls) == 0 {
		return Answer{}, &HTTPOnlyError{Looked: to.String(), Entry: e.key, URLs: e.httpOnly, Source: ed.source}
	}
	return Answer{Entry: e.key, URLs: e.urls, Source: ed.source, Published: ed.published}, nil
}

// resolveFresh goes on where the copy at hand knows no server, or none that
// counts: it looks again after the refresh that is due, if one is.
func (r *Resolver) resolveFresh(ctx context.Context, h *holder, to *target, q Question, hasFallback bool) (Answer, error) {
	var other *entry
	if to.registry == RegistryDNS && r.unlisted != nil {
		other = r.unlisted.suffix(to.name)
	}
	if f := r.refresh(h); f != nil {
		bound := ctx
		if hasFallback || other != nil {
			var cancel context.CancelFunc
			bound, cancel = context.WithTimeout(ctx, r.patience)
			defer cancel()
		}
		select {
		case <-f.done:
		case <-bound.Done():
			if ctx.Err() != nil {
				return Answer{}, fmt.Errorf("bootstrap: waiting for %s: %w", h.registry.file(), context.Cause(ctx))
			}
		}
	}
	ed := r.edition(h)
	if !r.given && q.isTopLevel(to) {
		return r.topLevelAnswer(h, ed, to, q)
	}
	if e := ed.table.find(to); e != nil {
		return ed.answer(to, e)
	}
	if other != nil {
		return (&edition{source: SourceUnlisted}).answer(to, other)
	}
	return Answer{}, r.noService(h, ed, to, q)
}

func (r *Resolver) noService(h *holder, ed *edition, to *target, q Question) error {
	now := r.now()
	e := &NoServiceError{
		Class:     q.Class,
		Name:      q.Name,
		Looked:    to.String(),
		Registry:  to.registry,
		Source:    ed.source,
		Published: ed.published,
		Fresh:     ed.fresh(now),
	}
	if e.Name == "" {
		e.Name = e.Looked
	}
	since := ed.since()
	if ed.source == SourceSnapshot {
		since = r.taken()
	}
	if !since.IsZero() {
		e.Age = max(now.Sub(since), 0)
	}
	switch f := h.failure.Load(); {
	case e.Fresh: // the copy is as good as a new one
	case r.offline:
		e.Err = errOffline // whatever happened when somebody did fetch
	case f != nil:
		e.Err = f.err
	}
	return e
}

// edition returns what is known of a registry, reading it first if needed.
func (r *Resolver) edition(h *holder) *edition {
	if ed := h.current.Load(); ed != nil {
		return ed
	}
	h.load.Lock()
	defer h.load.Unlock()
	if ed := h.current.Load(); ed != nil {
		return ed
	}
	stored := r.readCache(h.registry)
	r.adopt(h, stored)
	return h.current.Load()
}

// adopt makes a download, which may be none, what the registry is from now on.
func (r *Resolver) adopt(h *holder, d *download) {
	now := r.now()
	var iana *edition
	if d != nil {
		h.iana.Store(d)
		iana = d.edition
		h.failure.Store(d.meta.remembered())
	}
	var snap *edition
	if iana == nil || !iana.fresh(now) && r.baseURL == DefaultBaseURL {
		// The files of another publisher are no older or newer than IANA's.
		var err error
		if snap, err = snapshot(h.registry, r.allowHTTP); err != nil {
			r.trouble(troubleSnapshot, fmt.Sprintf("the built-in snapshot is invalid: %v", err))
			snap = &edition{table: new(table), source: SourceSnapshot}
		}
	}
	h.retry.Store(new(d.due(now)))
	h.current.Store(newer(iana, snap, now))
}

// postpone puts off the next fetch until t at least.
func (h *holder) postpone(t time.Time) {
	if h.retry.Load().Before(t) {
		h.retry.Store(&t)
	}
}

// due reports whether it is time to fetch.
func (r *Resolver) due(h *holder) bool { return !r.now().Before(*h.retry.Load()) }

// refresh starts a refresh if it is time for one. It returns the refresh that
// runs, or nil if there is none to wait for.
//
// A refresh that ends sets the time of the next one, then the edition, and only
// then clears flight. The flight is therefore read after the time: a caller for
// which it is not time to fetch either gets the refresh that set the time, or
// finds its edition in place.
func (r *Resolver) refresh(h *holder) *flight {
	if r.offline {
		return nil
	}
	if !r.due(h) {
		return h.flight.Load()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if f := h.flight.Load(); f != nil || r.closed || !r.due(h) {
		return f
	}
	f := &flight{done: make(chan struct{})}
	h.flight.Store(f)
	r.wg.Go(func() {
		defer close(f.done)
		defer h.flight.Store(nil)
		callback.Do(func() { r.update(h) }) // calls Config.Logger and Config.Warn
	})
	return f
}

// Wait returns when no refresh runs any more, or with the error of ctx. A
// process that ends right after its lookups calls it, with a short bound,
// before [Resolver.Close]: otherwise it would abandon the same download on
// every run.
func (r *Resolver) Wait(ctx context.Context) error {
	for i := range r.holders {
		if f := r.holders[i].flight.Load(); f != nil {
			select {
			case <-f.done:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
	}
	return nil
}

// Close cancels running refreshes and waits until they have ended, unless a Logger
// or Warn called it, which a refresh may be waiting for. After Close the Resolver
// still resolves from what it has, and fetches nothing.
func (r *Resolver) Close() error {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.cancel()
	if !callback.Running() {
		r.wg.Wait()
	}
	if r.closeIdle != nil {
		r.closeIdle()
	}
	return nil
}

// A trouble is a kind of warning, given once.
type trouble uint8

const (
	troubleRefresh trouble = iota
	troubleCache
	troubleSnapshot
)

// trouble warns of it, or has the log tell what nobody is warned of, so that who
// reads both reads it once.
func (r *Resolver) trouble(kind trouble, message string) {
	r.warnMu.Lock()
	if r.warn == nil || r.warned[kind] {
		r.warnMu.Unlock()
		r.log.Warn(message)
		return
	}
	r.warned[kind] = true
	r.warnings = append(r.warnings, message)
	defer r.warnMu.Unlock()
	if r.warning {
		return // the call that runs is followed by this one
	}
	r.warning = true
	defer func() { r.warning = false }()
	for len(r.warnings) > 0 {
		next := r.warnings[0]
		r.warnings = r.warnings[1:]
		r.callWarn(next)
	}
}

// callWarn releases warnMu during the call: Warn may call the Resolver.
func (r *Resolver) callWarn(message string) {
	r.warnMu.Unlock()
	defer r.warnMu.Lock()
	r.warn(message)
}
