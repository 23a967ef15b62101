package client

import (
	"hash/maphash"
	"net/netip"
	"slices"
)

// twinKey is what makes two inputs ask the same.
type twinKey struct {
	typ    Type
	name   string
	prefix netip.Prefix
	autnum uint32
	server string
}

func (q *Query) twinKey(server string) twinKey {
	if q.Search != nil || q.URL != "" || q.Note != "" || q.Referral != "" {
		// Whatever else makes a difference.
		return twinKey{typ: q.Type, name: q.Path() + " " + q.URL + " " + q.Note + " " + string(q.Referral), server: server}
	}
	return twinKey{typ: q.Type, name: q.Name, prefix: q.Prefix, autnum: q.Autnum, server: server}
}

// hash makes a number of the key. Tables by number are cheaper than tables by
// key; the key is looked at to be sure.
func (k *twinKey) hash(seed maphash.Seed) uint64 {
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

// A twin is an input that gets the result of an earlier one.
type twin struct {
	line  int64
	query Query
	extra []byte
}

// of returns a result like r for the twin.
func (t twin) of(r *Result) *Result {
	c := *r
	c.Line, c.Query, c.Extra, c.holder = t.line, t.query, t.extra, nil
	c.Warnings = slices.Clip(c.Warnings) // whoever appends has a list of his own
	return &c
}

// recent remembers the last answers of a batch, as many as its window has
// places, for inputs that come again soon.
type recent struct {
	index  map[uint64]int // by hash of the key
	ring   []memento
	places int
	next   int
	size   int64 // octets of bodies
	most   int64
}

type memento struct {
	key    twinKey
	hash   uint64
	result Result
}

func newRecent(places int, most int64) *recent {
	return &recent{index: make(map[uint64]int), places: places, most: most}
}

// add remembers an answer. Failures may pass, and are not remembered; neither
// are giants.
func (m *recent) add(it *item) {
	r := it.result
	if !r.Verdict.Answered() || it.key.typ == "" || r.weight() > m.most/8 {
		return
	}
	if _, ok := m.index[it.hash]; ok {
		return
	}
	m.size += r.weight()
	for {
		if len(m.ring) < m.places {
			m.ring = append(m.ring, memento{})
			m.next = len(m.ring) - 1
		}
		slot := m.next
		if m.next++; m.next == len(m.ring) {
			m.next = 0
		}
		m.forget(slot)
		if m.size <= m.most {
			m.ring[slot] = memento{it.key, it.hash, *r}
			m.index[it.hash] = slot
			return
		}
	}
}

func (m *recent) forget(slot int) {
	old := &m.ring[slot]
	if old.key.typ == "" {
		return
	}
	m.size -= old.result.weight()
	delete(m.index, old.hash)
	old.key.typ, old.result.Raw = "", nil
	old.result.Registrar, old.result.Related, old.result.Paging = nil, nil, nil
}

func (m *recent) get(it *item) (*Result, bool) {
	if slot, ok := m.index[it.hash]; ok && m.ring[slot].key == it.key {
		return &m.ring[slot].result, true
	}
	return nil, false
}
