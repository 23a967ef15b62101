package bootstrap

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

const (
	// refreshLimit limits a refresh, including the wait for another process.
	refreshLimit = 30 * time.Second
	// lockPoll is the interval at which a process that waits for another one checks the lock.
	lockPoll = 25 * time.Millisecond
	// minInterval is the minimum time between downloads of a file that expires immediately.
	minInterval = time.Minute
	// Pause after a failure, doubled for each further failure.
	minBackoff = time.Minute
	maxBackoff = time.Hour
	// maxRetryAfter limits Retry-After.
	maxRetryAfter = 24 * time.Hour
)

// update refreshes a registry from the cache if another process has updated the cache, and
// otherwise from IANA. Only one update per registry runs at a time, also across processes if
// files can be locked.
func (r *Resolver) update(h *registryState) {
	ctx, cancel := context.WithTimeoutCause(r.ctx, refreshLimit, errors.New("no response within "+refreshLimit.String()))
	defer cancel()
	unlock, err := r.cache.lock(func() error { return sleep(ctx, lockPoll) }, h.registry)
	switch {
	case err == nil:
		defer func() { _ = unlock() }() // closing a lock file loses no data
	case ctx.Err() != nil:
		// Another process holds the lock for too long, which is not a failure of IANA.
		h.failure.Store(&failure{err})
		h.postpone(r.now().Add(minInterval))
		return
	default:
		r.warnOnce(warnCache, fmt.Sprintf("cannot use the bootstrap cache, continuing in memory: %v", err))
	}

	old := h.iana.Load()
	if stored := r.readCache(h.registry); stored != nil && (old == nil || !old.meta.Fetched.After(stored.meta.Fetched)) {
		if now := r.now(); stored.due(now).After(now) {
			r.log.Debug("registry refreshed by another process", "registry", h.registry)
			r.setCurrent(h, stored)
			return
		}
		old = stored
	}
	next, data, err := r.download(ctx, h.registry, old)
	if r.ctx.Err() != nil {
		return // the Resolver was closed, and nothing failed
	}
	if err != nil {
		next = r.failed(h, old, err)
	}
	if errWrite := r.cache.write(h.registry, &next.meta, data); errWrite != nil {
		r.warnOnce(warnCache, fmt.Sprintf("cannot write the bootstrap cache, continuing in memory: %v", errWrite))
	}
	r.setCurrent(h, next)
	if err != nil {
		h.failure.Store(&failure{err})
	}
	h.postpone(r.now().Add(minInterval))
}

// download downloads and validates a file. The data is nil if the file has not
// changed.
func (r *Resolver) download(ctx context.Context, reg Registry, old *download) (*download, []byte, error) {
	var before meta
	if old != nil {
		before = old.meta
	}
	got, err := r.fetch(ctx, reg, before)
	if err != nil {
		return nil, nil, err
	}
	now := r.now()
	next := &download{meta: meta{
		BaseURL:      r.baseURL,
		ETag:         cmp.Or(got.header.Get("ETag"), before.ETag),
		LastModified: cmp.Or(got.header.Get("Last-Modified"), before.LastModified),
		Fetched:      now,
		Size:         before.Size,
	}}
	life, stated := lifetime(got.header, now)
	if got.data == nil {
		next.edition = old.edition
		if !stated && before.Expires.After(before.Fetched) {
			life = before.Expires.Sub(before.Fetched) // a 304 may omit the lifetime
		}
	} else {
		next.meta.ETag, next.meta.LastModified = got.header.Get("ETag"), got.header.Get("Last-Modified")
		next.meta.Size = int64(len(got.data))
		if next.edition, err = reg.parse(got.data, r.allowHTTP); err != nil {
			return nil, nil, err
		}
		if err := checkShrunk(r.lastGood(reg, old), next.edition.table); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", reg.file(), err)
		}
	}
	next.meta.Expires = now.Add(life)
	next.setTimes()
	r.log.Info("registry refreshed", "registry", reg, "published", next.edition.published, "changed", got.data != nil, "expires", next.meta.Expires)
	return next, got.data, nil
}

// lastGood returns the table to compare a new file with. The snapshot is comparable only with
// files of IANA.
func (r *Resolver) lastGood(reg Registry, old *download) *table {
	if old != nil && old.edition != nil {
		return old.edition.table
	}
	if r.baseURL == DefaultBaseURL {
		if snap, err := snapshot(reg, r.allowHTTP); err == nil {
			return snap.table
		}
	}
	return new(table)
}

// failed records that a refresh failed, and keeps the current copy.
func (r *Resolver) failed(h *registryState, old *download, err error) *download {
	next := &download{meta: meta{BaseURL: r.baseURL}}
	if old != nil {
		*next = *old
	}
	m := &next.meta
	m.Failures++
	m.Failure = err.Error()
	m.Retry = r.now().Add(backoff(m.Failures, err))
	kept := "the built-in snapshot"
	if ed := h.current.Load(); ed != nil && ed.source == SourceIANA {
		kept = "the cached copy"
	}
	r.warnOnce(warnRefresh, fmt.Sprintf("cannot refresh IANA's %s, using %s: %v", h.registry.file(), kept, err))
	return next
}

// backoff returns the pause after failures in a row. Jitter keeps many machines from retrying
// at the same time.
func backoff(failures int, err error) time.Duration {
	d := min(minBackoff<<min(failures-1, 10), maxBackoff)
	d += rand.N(d / 4)
	var status *statusError
	if errors.As(err, &status) {
		d = max(d, min(status.retryAfter, maxRetryAfter))
	}
	return d
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
