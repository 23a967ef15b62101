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

// A Resolver finds servers. It is safe for concurrent use. Create a Resolver with [New]: the
// methods of the zero value return an error.
type Resolver struct {
	server        []string // nil unless one server is the answer to all questions
	overrides     *table   // nil without overrides
	unlisted      *table   // nil if turned off
	states        [registries]registryState
	snapshotTaken func() time.Time // is the function snapshotTaken, which runs once

	baseURL      string
	offline      bool
	filesGiven   bool // Config.Files is set
	allowHTTP    bool
	fallbackWait time.Duration // is defaultFallbackWait, except in tests
	cache        cache
	client       *http.Client
	userAgent    string
	closeIdle    func() // nil means that the caller owns the client
	log          *slog.Logger
	now          func() time.Time

	ctx    context.Context // context of the refreshes, which outlive the lookup that started them
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu     sync.Mutex // guards closed, and the start of refreshes
	closed bool

	warnMu   sync.Mutex // guards the following fields, except warn
	warned   map[warningKind]bool
	warnings []string // warnings not yet passed to warn
	warning  bool     // a goroutine is calling warn
	warn     func(string)
}

// A registryState holds the copy of one registry.
type registryState struct {
	registry Registry
	load     sync.Mutex                // held while current is set for the first time
	current  atomic.Pointer[edition]   // copy that lookups use; nil until the first lookup
	retry    atomic.Pointer[time.Time] // when to download next; set with current
	flight   atomic.Pointer[flight]    // running refresh, or nil
	failure  atomic.Pointer[failure]   // error of the last refresh; nil after a success
	iana     atomic.Pointer[download]  // last file from IANA, or nil if there is none
}

// A flight is a running refresh.
type flight struct{ done chan struct{} }

// A failure is the error of a refresh.
type failure struct{ err error }

// defaultFallbackWait limits the wait for a file if there is another, less reliable answer.
const defaultFallbackWait = 5 * time.Second

// Resolve returns the servers for a question. It uses [Config.Server], then [Config.Overrides],
// then IANA's file, or the snapshot if there is no newer file. The last source is the built-in
// list of servers that IANA does not list. [Answer.Source] identifies the source of the answer.
//
// Resolve waits for the network only if its copy lists no server and needs to be refreshed; ctx
// limits the wait, not the refresh. An old copy with a server answers immediately and is
// refreshed in the background. The snapshot is a copy of IANA's files. If [Config.BaseURL] is
// another URL, Resolve uses the snapshot only if a download from that URL fails.
//
// The records of the root and of the top-level domains are at IANA's own server. IANA's files
// do not list that server, so the answer has SourceUnlisted. Config.Server, Config.Overrides
// and Config.Files take precedence.
//
// The error is a [*NoServiceError], a [*HTTPOnlyError], a [*NotTopLevelError], or wraps
// [ErrBadReverseName], [ErrInvalidQuestion] or the error of ctx.
func (r *Resolver) Resolve(ctx context.Context, q Question) (Answer, error) {
	if r.ctx == nil {
		return Answer{}, errNotMade
	}
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
	h := &r.states[to.registry]
	ed := r.edition(h)
	if !r.filesGiven && q.isTopLevel(&to) {
		if r.isDelegated(to.name, ed.table) || specialUse[to.name] {
			r.refresh(h)
			return r.topLevelAnswer(h, ed, &to, q)
		}
		return r.resolveFresh(ctx, h, &to, q, false)
	}
	e := ed.table.find(&to)
	if e == nil || r.isSubstitute(ed) {
		return r.resolveFresh(ctx, h, &to, q, e != nil)
	}
	r.refresh(h)
	return ed.answer(&to, e)
}

// isSubstitute reports whether ed is the snapshot although BaseURL is not IANA's.
func (r *Resolver) isSubstitute(ed *edition) bool {
	return ed.source == SourceSnapshot && r.baseURL != DefaultBaseURL && !r.offline
}

func (r *Resolver) override(to *target) *entry {
	e := r.overrides.find(to)
	if e == nil && to.prefix.IsValid() && to.name != "" {
		e = r.overrides.suffix(to.name) // look up a reverse name as a suffix, too
	}
	return e
}

// answer returns the answer for a match.
func (ed *edition) answer(to *target, e *entry) (Answer, error) {
	if len(e.urls) == 0 {
		return Answer{}, &HTTPOnlyError{Looked: to.String(), Entry: e.key, URLs: e.httpOnly, Source: ed.source}
	}
	return Answer{Entry: e.key, URLs: e.urls, Source: ed.source, Published: ed.published}, nil
}

// resolveFresh resolves a question if the copy has no server, or is not authoritative. If a
// refresh is pending, it waits and then searches again.
func (r *Resolver) resolveFresh(ctx context.Context, h *registryState, to *target, q Question, hasFallback bool) (Answer, error) {
	var other *entry
	if to.registry == RegistryDNS && r.unlisted != nil {
		other = r.unlisted.suffix(to.name)
	}
	if f := r.refresh(h); f != nil {
		bound := ctx
		if hasFallback || other != nil {
			var cancel context.CancelFunc
			bound, cancel = context.WithTimeout(ctx, r.fallbackWait)
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
	if !r.filesGiven && q.isTopLevel(to) {
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

func (r *Resolver) noService(h *registryState, ed *edition, to *target, q Question) error {
	now := r.now()
	e := &NoServiceError{
		For:       q.For,
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
	since := ed.confirmedAt()
	if ed.source == SourceSnapshot {
		since = r.snapshotTaken()
	}
	if !since.IsZero() {
		e.Age = max(now.Sub(since), 0)
	}
	switch f := h.failure.Load(); {
	case e.Fresh: // a refresh would change nothing
	case r.offline:
		e.Err = errOffline // replaces the error of an earlier refresh
	case f != nil:
		e.Err = f.err
	}
	return e
}

// edition returns the current copy of a registry, and reads it on first use.
func (r *Resolver) edition(h *registryState) *edition {
	if ed := h.current.Load(); ed != nil {
		return ed
	}
	h.load.Lock()
	defer h.load.Unlock()
	if ed := h.current.Load(); ed != nil {
		return ed
	}
	stored := r.readCache(h.registry)
	r.setCurrent(h, stored)
	return h.current.Load()
}

// setCurrent replaces the current copy with a download, which may be nil.
func (r *Resolver) setCurrent(h *registryState, d *download) {
	now := r.now()
	var iana *edition
	if d != nil {
		h.iana.Store(d)
		iana = d.edition
		h.failure.Store(d.meta.lastFailure())
	}
	var snap *edition
	if iana == nil || !iana.fresh(now) && r.baseURL == DefaultBaseURL {
		// The age of files from another publisher is not comparable with the age of IANA's
		// files.
		var err error
		if snap, err = snapshot(h.registry, r.allowHTTP); err != nil {
			r.warnOnce(warnSnapshot, fmt.Sprintf("the built-in snapshot is invalid: %v", err))
			snap = &edition{table: new(table), source: SourceSnapshot}
		}
	}
	h.retry.Store(new(d.due(now)))
	h.current.Store(newer(iana, snap, now))
}

// postpone delays the next download until t at least.
func (h *registryState) postpone(t time.Time) {
	if h.retry.Load().Before(t) {
		h.retry.Store(&t)
	}
}

// due reports whether it is time to download.
func (r *Resolver) due(h *registryState) bool { return !r.now().Before(*h.retry.Load()) }

// refresh starts a refresh if one is needed. It returns the running refresh, or nil.
//
// A refresh that ends sets the time of the next one, then the edition, and then clears flight.
// Therefore a caller reads flight after the time. A caller that is not due either gets the
// refresh that set the time, or finds its edition.
func (r *Resolver) refresh(h *registryState) *flight {
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
		callback.Do(func() { r.update(h) }) // update calls Config.Logger and Config.Warn
	})
	return f
}

// Wait waits until no refresh is running, or ctx is done. A process that ends right after its
// lookups should call Wait with a short limit before [Resolver.Close]. Otherwise every run
// abandons the same download.
func (r *Resolver) Wait(ctx context.Context) error {
	for i := range r.states {
		if f := r.states[i].flight.Load(); f != nil {
			select {
			case <-f.done:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
	}
	return nil
}

// Close cancels running refreshes and waits for their end. If a Logger or Warn calls Close, it
// does not wait, because a refresh may be waiting for that call. After Close the Resolver still
// resolves from its copies, and fetches nothing. The error is always nil.
func (r *Resolver) Close() error {
	if r.ctx == nil {
		return nil
	}
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

// A warningKind is a kind of warning, which is reported once.
type warningKind uint8

const (
	warnRefresh warningKind = iota
	warnCache
	warnSnapshot
)

// warnOnce passes a warning to Warn if it is the first of its kind. Otherwise, or without Warn,
// it logs the warning.
func (r *Resolver) warnOnce(kind warningKind, message string) {
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
		return // the goroutine that calls warn also handles this warning
	}
	r.warning = true
	defer func() { r.warning = false }()
	for len(r.warnings) > 0 {
		next := r.warnings[0]
		r.warnings = r.warnings[1:]
		r.callWarn(next)
	}
}

// callWarn releases warnMu during the call, because Warn may call the Resolver.
func (r *Resolver) callWarn(message string) {
	r.warnMu.Unlock()
	defer r.warnMu.Lock()
	r.warn(message)
}
