package client

import (
	"context"
	"hash/maphash"
	"net/http/httptrace"
	"net/netip"
	"slices"
	"sync"

	"github.com/rdapq/rdapq/bootstrap"
)

// lookupKey identifies the object and the server of a query. Queries with equal keys are
// duplicates.
type lookupKey struct {
	typ     Type
	name    string
	prefix  netip.Prefix
	autnum  uint32
	server  string
	options string           // settings of the call
	source  bootstrap.Source // part of the key because servers that the user named may have private addresses
}

func (q *Query) lookupKey(server string) lookupKey {
	if q.Search != nil || q.URL != "" || q.Referral != "" {
		// Path includes all other differences.
		return lookupKey{typ: q.Type, name: q.Path() + " " + q.URL + " " + string(q.Referral), server: server}
	}
	return lookupKey{typ: q.Type, name: q.Name, prefix: q.Prefix, autnum: q.Autnum, server: server}
}

// hash returns the hash of the key. Maps keyed by uint64 are cheaper; callers compare keys on a
// hit.
func (k *lookupKey) hash(seed maphash.Seed) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	h.WriteString(string(k.typ))
	h.WriteByte(0)
	h.WriteString(k.name)
	h.WriteByte(0)
	h.WriteString(k.server)
	h.WriteByte(0)
	h.WriteString(k.options)
	if k.name == "" {
		maphash.WriteComparable(&h, k.prefix)
		maphash.WriteComparable(&h, k.autnum)
	}
	return h.Sum64()
}

// A duplicate is an input that shares the result of an earlier input.
type duplicate struct {
	line  int64
	query Query
	extra []byte
}

// resultOf returns a copy of r for the duplicate.
func (t duplicate) resultOf(r *Result) *Result {
	c := *r
	c.Line, c.Query, c.Extra, c.memoryOwner = t.line, t.query, t.extra, nil
	if !r.Shared {
		c.Shared, c.SharedLine = true, r.Line
	}
	c.Warnings = slices.Clip(c.Warnings) // appending to one copy must not change another
	c.replaceNote(r.Query.note)
	return &c
}

// replaceNote replaces the note of another query in the warnings by that of r's query.
func (r *Result) replaceNote(other string) {
	if r.Query.note == other {
		return
	}
	var list []Warning
	if r.Query.note != "" {
		list = append(list, Warning{WarnQuery, r.Query.note})
	}
	for _, w := range r.Warnings {
		if w.Code != WarnQuery {
			list = append(list, w)
		}
	}
	r.Warnings = list
}

// watchFirstByte returns a context with a trace hook that records in t when the first byte of a
// response arrives. From then on no other query may share the response. The hook may run in
// another goroutine and under a lock of the transport.
func (t *task) watchFirstByte(ctx context.Context) context.Context {
	if t.hooks == nil {
		t.hooks = &httptrace.ClientTrace{GotFirstResponseByte: t.noteFirstByte}
	}
	return httptrace.WithClientTrace(ctx, t.hooks)
}

func (t *task) noteFirstByte() { t.responseStarted.Store(true) }

// isJoinable reports whether another query may share the result of t.
func (t *task) isJoinable() bool { return !t.responseStarted.Load() }

// restart lets others join t again if t repeats the last request. It does nothing for further
// pages of a search, links and redirects.
func (t *task) restart() {
	if t.redirect == nil && t.walk == nil && t.stage != stage(pageStage{}) {
		t.responseStarted.Store(false)
	}
}

// flights holds the single lookups in flight that others may join.
type flights struct {
	seed maphash.Seed

	mu     sync.Mutex
	byHash map[uint64]*flight
}

// A flight is a lookup in flight, and the lookups that wait for its result.
type flight struct {
	key   lookupKey
	hash  uint64
	first *task
	done  chan struct{} // closed when the lookup has ended

	// result is shared by the waiting lookups, and set before done is closed. It is nil if the
	// lookup ended because of its caller: the waiting lookups then send their own requests.
	result *Result
}

// join returns the flight that t may share. If there is none, it adds a flight and returns
// leads=true.
func (f *flights) join(t *task) (one *flight, leads bool) {
	key := t.result.Query.lookupKey(t.servers.URLs[0])
	key.source, key.options = t.servers.Source, t.options.lookupKey()
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
