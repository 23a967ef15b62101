package client

import (
	"context"
	"hash/maphash"
	"net/http/httptrace"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/rdapq/rdapq/bootstrap"
	"github.com/rdapq/rdapq/internal/unshared"
)

// lookupKey is what makes two inputs ask the same.
type lookupKey struct {
	typ    Type
	name   string
	prefix netip.Prefix
	autnum uint32
	server string
	source bootstrap.Source // servers that the user named may be at private addresses
}

func (q *Query) lookupKey(server string) lookupKey {
	if q.Search != nil || q.URL != "" || q.Referral != "" {
		// Whatever else makes a difference.
		return lookupKey{typ: q.Type, name: q.Path() + " " + q.URL + " " + string(q.Referral), server: server}
	}
	return lookupKey{typ: q.Type, name: q.Name, prefix: q.Prefix, autnum: q.Autnum, server: server}
}

// hash makes a number of the key. Tables by number are cheaper than tables by
// key; the key is looked at to be sure.
func (k *lookupKey) hash(seed maphash.Seed) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	h.WriteString(string(k.typ))
	h.WriteByte(0)
	h.WriteString(k.name)
	h.WriteByte(0)
	h.WriteString(k.server)
	if k.name == "" {
		maphash.WriteComparable(&h, k.prefix)
		maphash.WriteComparable(&h, k.autnum)
	}
	return h.Sum64()
}

// A duplicate is an input that shares the result of an earlier one.
type duplicate struct {
	line  int64
	query Query
	extra []byte
}

// resultOf returns a result like r for the twin.
func (t duplicate) resultOf(r *Result) *Result {
	c := *r
	c.Line, c.Query, c.Extra, c.memoryOwner = t.line, t.query, t.extra, nil
	if !r.Shared {
		c.Shared, c.SharedLine = true, r.Line
	}
	c.Warnings = slices.Clip(c.Warnings) // each has a list of its own to append to
	c.replaceNote(r.Query.Note)
	return &c
}

// replaceNote replaces the note on how the text of another query was read by the
// note of this one.
func (r *Result) replaceNote(other string) {
	if r.Query.Note == other {
		return
	}
	var list []Warning
	if r.Query.Note != "" {
		list = append(list, Warning{WarnQuery, r.Query.Note})
	}
	for _, w := range r.Warnings {
		if w.Code != WarnQuery {
			list = append(list, w)
		}
	}
	r.Warnings = list
}

// watchFirstByte returns a context under which the transport notes in t that the
// first byte of a response has come: from then on no other query may share it.
// The transport calls the hook in a goroutine of its own, possibly under a lock.
func (t *task) watchFirstByte(ctx context.Context) context.Context {
	if t.hooks == nil {
		t.hooks = &httptrace.ClientTrace{GotFirstResponseByte: t.noteFirstByte}
	}
	return httptrace.WithClientTrace(ctx, t.hooks)
}

func (t *task) noteFirstByte() { t.responseStarted.Store(true) }

// isJoinable reports whether another query may still share the result of t.
func (t *task) isJoinable() bool { return !t.responseStarted.Load() }

// restart lets others join t again if its next request is for the same object as
// the last one, whose response counts for nothing. It does not after the first
// page of a search, or for what a response links or redirects to.
func (t *task) restart() {
	if t.redirect == nil && t.walk == nil && (t.search == nil || t.search.stage != stageMore) {
		t.responseStarted.Store(false)
	}
}

// flights are the single lookups under way that others may join.
type flights struct {
	seed maphash.Seed

	mu     sync.Mutex
	byHash map[uint64]*flight
}

// A flight is a lookup under way and those that wait for its result.
type flight struct {
	key   lookupKey
	hash  uint64
	first *task
	done  chan struct{} // closed when the lookup has ended

	// result is what the others share, set before done is closed. It is nil if the
	// lookup ended for a reason of its own caller: the others go on by themselves.
	result *Result
}

// join returns the flight that t may share, or adds one for it and reports that t
// leads it.
func (f *flights) join(t *task) (one *flight, leads bool) {
	key := t.result.Query.lookupKey(t.servers.URLs[0])
	key.source = t.servers.Source
	hash := key.hash(f.seed)
	f.mu.Lock()
	defer f.mu.Unlock()
	if one := f.byHash[hash]; one != nil && one.key == key && one.first.isJoinable() {
		return one, false
	}
	one = &flight{key: key, hash: hash, first: t, done: make(chan struct{})}
	if f.byHash == nil {
		f.byHash = make(map[uint64]*flight)
	}
	f.byHash[hash] = one
	return one, true
}

// finish ends a flight; r is nil if there is nothing to share.
func (f *flights) finish(one *flight, r *Result) {
	f.mu.Lock()
	if f.byHash[one.hash] == one {
		delete(f.byHash, one.hash)
	}
	f.mu.Unlock()
	one.result = r
	close(one.done)
}

// lookupShared is ask, except that identical lookups under way at the same time
// make one request.
func (c *Client) lookupShared(ctx context.Context, r *Result, servers bootstrap.Answer) *Result {
	t := c.newTask(r, servers)
	if unshared.Is(ctx) {
		c.run(ctx, t)
		return t.result
	}
	for {
		f, leads := c.flights.join(t)
		if leads {
			c.runShared(ctx, t, f)
			return t.result
		}
		select {
		case <-f.done:
			if f.result != nil {
				shared := duplicate{query: r.Query}.resultOf(f.result)
				shared.Header = shared.Header.Clone()
				return shared
			}
		case <-ctx.Done():
			c.stop(ctx, t, "waiting for the response to an identical lookup")
			r.Time = time.Now()
			return r
		case <-c.closed:
			c.stop(ctx, t, "waiting for the response to an identical lookup")
			r.Time = time.Now()
			return r
		}
	}
}

// runShared runs t and shares its result with those that joined f, unless the result
// depends on ctx: another caller's deadline may permit more.
func (c *Client) runShared(ctx context.Context, t *task, f *flight) {
	var shared *Result
	defer func() { c.flights.finish(f, shared) }() // also if the transport panics
	c.run(ctx, t)
	if r := t.result; ctx.Err() == nil {
		if _, limited := ctx.Deadline(); !limited || r.Verdict.Answered() || r.Err == nil || r.Err.Code != CodeTimeout && r.Err.Code != CodeRateLimited {
			own := *r // the caller may change what it got
			own.Header = r.Header.Clone()
			shared = &own
		}
	}
}
