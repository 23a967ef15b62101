package rdap

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// str reads a string into dst. It leaves dst unchanged if the value is not a string.
func (r *reader) str(dst *string) {
	if s, ok := r.scalar(); ok {
		r.duplicate(*dst != "")
		*dst = s
	}
}

func (r *reader) scalar() (string, bool) {
	switch r.peek() {
	case jsontext.KindString:
		return r.unquote(r.value()), r.err == nil
	case jsontext.KindNumber:
		s := r.value()
		r.warn("expected a string, found a number")
		return s, r.err == nil
	case jsontext.KindBeginArray:
		return r.onlyItem()
	}
	r.skipInvalid("a string")
	return "", false
}

// onlyItem reads an array of one item where the item itself is expected.
func (r *reader) onlyItem() (string, bool) {
	r.token()
	if !r.next() {
		return "", false
	}
	s, ok := r.scalar()
	if !r.next() {
		if ok && r.err == nil {
			r.warn("expected a string, found an array")
		}
		return s, ok && r.err == nil
	}
	for {
		r.skip()
		if !r.next() {
			break
		}
	}
	r.discard("expected one string, found an array of several")
	return "", false
}

// strings reads an array of strings into dst. It leaves dst unchanged if the value is not an
// array.
func (r *reader) strings(dst *[]string) {
	switch r.peek() {
	case jsontext.KindString, jsontext.KindNumber:
		s, ok := r.scalar()
		if ok && s != "" {
			r.warn("expected an array, found a single value")
			r.duplicate(len(*dst) > 0)
			*dst = append(reuse(r, *dst), s)
		}
		return
	case jsontext.KindBeginArray:
	default:
		r.skipInvalid("an array of strings")
		return
	}
	r.duplicate(len(*dst) > 0)
	r.token()
	list := reuse(r, *dst)
	for r.next() {
		if r.peek() == jsontext.KindNull {
			r.skip()
			r.warn("null in an array")
			continue
		}
		if !r.reserve(costString) {
			r.skip()
			continue
		}
		if s, ok := r.scalar(); ok {
			if cap(list) == 0 {
				list = make([]string, 0, 4)
			}
			list = append(list, s)
		}
	}
	if len(list) == 0 {
		list = nil
	}
	*dst = list
}

// reuse returns an empty slice. In summary mode it reuses the backing array of the previous
// response, because nothing refers to those Records any longer.
func reuse[T any](r *reader, list []T) []T {
	if r.summaryOnly {
		return list[:0]
	}
	return nil
}

// number reads an unsigned number. It discards a number out of range, without wraparound.
func (r *reader) number(dst **uint32) {
	var text string
	quoted := false
	switch r.peek() {
	case jsontext.KindNumber:
		text = r.value()
	case jsontext.KindString:
		quoted = true
		text = strings.TrimSpace(r.unquote(r.value()))
		if text == "" {
			return
		}
	default:
		r.skipInvalid("a number")
		return
	}
	if r.err != nil {
		return
	}
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		r.discard("not an integer from 0 to 4294967295")
		return
	}
	if quoted {
		r.warn("expected a number, found a string")
	}
	r.duplicate(*dst != nil)
	*dst = new(uint32(n))
}

// numbers reads an array of numbers.
func (r *reader) numbers(dst *[]uint32) {
	if r.peek() != jsontext.KindBeginArray {
		r.skipInvalid("an array of numbers")
		return
	}
	r.duplicate(*dst != nil)
	r.token()
	var list []uint32
	for r.next() {
		var n *uint32
		if !r.reserve(costString) {
			r.skip()
			continue
		}
		if r.number(&n); n != nil {
			list = append(list, *n)
		}
	}
	*dst = list
}

// tri reads a boolean.
func (r *reader) tri(dst *Tri) {
	switch r.peek() {
	case jsontext.KindTrue:
		r.skip()
		*dst = TriYes
	case jsontext.KindFalse:
		r.skip()
		*dst = TriNo
	case jsontext.KindString:
		s := r.unquote(r.value())
		switch {
		case strings.EqualFold(s, "true"):
			*dst = TriYes
		case strings.EqualFold(s, "false"):
			*dst = TriNo
		default:
			r.discard("expected true or false, found a string")
			return
		}
		r.warn("expected true or false, found a string")
	default:
		r.skipInvalid("true or false")
	}
}

// A list iterates over the items of a JSON array, or over a single item in place of the
// array.
type list struct {
	array, single bool
	cost          int // cost of each item, see reserve
}

func (r *reader) list() list {
	switch r.peek() {
	case jsontext.KindBeginArray:
		r.token()
		return list{array: true, cost: costItem}
	case jsontext.KindNull:
		r.skip()
		return list{}
	}
	return list{single: r.err == nil}
}

// charging sets the cost of each item, which is 0 if the caller stores nothing of an item.
func (l list) charging(cost int) list {
	l.cost = cost
	return l
}

// more advances to the next item that is an object. It skips other items, and all items
// once the budget is exhausted.
func (l *list) more(r *reader) bool {
	if l.single {
		l.single = false
		if r.peek() != jsontext.KindBeginObject {
			r.skipInvalid("an array of objects")
			return false
		}
		r.warn("expected an array, found a single object")
		return true
	}
	for l.array && r.next() {
		switch r.peek() {
		case jsontext.KindBeginObject:
			if l.cost == 0 || r.reserve(l.cost) {
				return true
			}
			r.skip()
		case jsontext.KindNull:
			r.skip()
			r.warn("null in an array")
		default:
			r.skipInvalid("an object")
		}
	}
	return false
}
