package client

import "net/netip"

// twinKey is what makes two inputs ask the same.
type twinKey struct {
	typ    Type
	name   string
	prefix netip.Prefix
	autnum uint32
	server string
}

func (q Query) twinKey(server string) twinKey {
	if q.Search != nil || q.URL != "" || q.Note != "" {
		// Whatever else makes a difference.
		return twinKey{typ: q.Type, name: q.Path() + " " + q.URL + " " + q.Note, server: server}
	}
	return twinKey{typ: q.Type, name: q.Name, prefix: q.Prefix, autnum: q.Autnum, server: server}
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
	c.Line, c.Query, c.Extra, c.held = t.line, t.query, t.extra, 0
	return &c
}

// recent remembers the last answers of a batch, as many as its window has
// places, for inputs that come again soon.
type recent struct {
	index  map[twinKey]int
	ring   []memento
	places int
	next   int
	size   int64 // octets of bodies
	most   int64
}

type memento struct {
	key    twinKey
	result Result
}

func newRecent(places int, most int64) *recent {
	return &recent{index: make(map[twinKey]int), places: places, most: most}
}

// add remembers an answer. Failures may pass, and are not remembered; neither
// are giants.
func (m *recent) add(key twinKey, r *Result) {
	if !r.Verdict.Answered() || key.typ == "" || int64(len(r.Raw)) > m.most/8 {
		return
	}
	if _, ok := m.index[key]; ok {
		return
	}
	m.size += int64(len(r.Raw))
	for {
		if len(m.ring) < m.places {
			m.ring = append(m.ring, memento{})
			m.next = len(m.ring) - 1
		}
		slot := m.next
		m.next = (m.next + 1) % len(m.ring)
		m.forget(slot)
		if m.size <= m.most {
			m.ring[slot] = memento{key, *r}
			m.index[key] = slot
			return
		}
	}
}

func (m *recent) forget(slot int) {
	old := &m.ring[slot]
	if old.key.typ == "" {
		return
	}
	m.size -= int64(len(old.result.Raw))
	delete(m.index, old.key)
	*old = memento{}
}

func (m *recent) get(key twinKey) (*Result, bool) {
	if slot, ok := m.index[key]; ok {
		return &m.ring[slot].result, true
	}
	return nil, false
}
