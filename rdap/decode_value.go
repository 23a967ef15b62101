package rdap

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// str reads a string into dst, and leaves dst alone when there is none.
func (r *reader) str(dst *string) {
	if s, ok := r.scalar(); ok {
		r.again(*dst != "")
		*dst = s
	}
}

func (r *reader) scalar() (string, bool) {
	switch r.peek() {
	case jsontext.KindString:
		return r.unquote(r.value()), r.err == nil
	case jsontext.KindNumber:
		s := r.value()
		r.odd("expected a string, found a number")
		return s, r.err == nil
	case jsontext.KindBeginArray:
		return r.onlyItem()
	}
	r.drop("a string")
	return "", false
}

// onlyItem reads a list of one where its item alone was due.
func (r *reader) onlyItem() (string, bool) {
	r.token()
	if !r.next() {
		return "", false
	}
	s, ok := r.scalar()
	if !r.next() {
		if ok && r.err == nil {
			r.odd("expected a string, found an array")
		}
		return s, ok && r.err == nil
	}
	for {
		r.skip()
		if !r.next() {
			break
		}
	}
	r.lost("expected one string, found an array of several")
	return "", false
}

// strings reads a list of strings into dst, and leaves dst alone when there is
// none.
func (r *reader) strings(dst *[]string) {
	switch r.peek() {
	case jsontext.KindString, jsontext.KindNumber:
		s, ok := r.scalar()
		if ok && s != "" {
			r.odd("expected an array, found a single value")
			r.again(len(*dst) > 0)
			*dst = append(reuse(r, *dst), s)
		}
		return
	case jsontext.KindBeginArray:
	default:
		r.drop("an array of strings")
		return
	}
	r.again(len(*dst) > 0)
	r.token()
	list := reuse(r, *dst)
	for r.next() {
		if r.peek() == jsontext.KindNull {
			r.skip()
			r.odd("null in an array")
			continue
		}
		if !r.fits(roomString) {
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

// reuse returns an empty list to fill. A Summary goes through Records that
// nobody keeps, so their lists serve one answer after another.
func reuse[T any](r *reader, list []T) []T {
	if r.brief {
		return list[:0]
	}
	return nil
}

// number reads an unsigned number. What does not fit is given up: it never
// wraps, and never becomes 0.
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
		r.drop("a number")
		return
	}
	if r.err != nil {
		return
	}
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		r.lost("not an integer from 0 to 4294967295")
		return
	}
	if quoted {
		r.odd("expected a number, found a string")
	}
	r.again(*dst != nil)
	*dst = new(uint32(n))
}

// numbers reads a list of numbers.
func (r *reader) numbers(dst *[]uint32) {
	if r.peek() != jsontext.KindBeginArray {
		r.drop("an array of numbers")
		return
	}
	r.again(*dst != nil)
	r.token()
	var list []uint32
	for r.next() {
		var n *uint32
		if !r.fits(roomString) {
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
		*dst = Yes
	case jsontext.KindFalse:
		r.skip()
		*dst = No
	case jsontext.KindString:
		s := r.unquote(r.value())
		switch {
		case strings.EqualFold(s, "true"):
			*dst = Yes
		case strings.EqualFold(s, "false"):
			*dst = No
		default:
			r.lost("expected true or false, found a string")
			return
		}
		r.odd("expected true or false, found a string")
	default:
		r.drop("true or false")
	}
}

// A list is a walk over the items of a JSON array, or over the one item that
// stands where the array is due.
type list struct {
	array, single bool
	room          int // that each item takes, see fits
}

func (r *reader) list() list {
	switch r.peek() {
	case jsontext.KindBeginArray:
		r.token()
		return list{array: true, room: roomItem}
	case jsontext.KindNull:
		r.skip()
		return list{}
	}
	return list{single: r.err == nil}
}

// of sets the room that each item takes; 0 if nothing is kept of it.
func (l list) of(room int) list {
	l.room = room
	return l
}

// more moves to the next item that is an object. Others are passed over, and so
// are those for which there is no room.
func (l *list) more(r *reader) bool {
	if l.single {
		l.single = false
		if r.peek() != jsontext.KindBeginObject {
			r.drop("an array of objects")
			return false
		}
		r.odd("expected an array, found a single object")
		return true
	}
	for l.array && r.next() {
		switch r.peek() {
		case jsontext.KindBeginObject:
			if l.room == 0 || r.fits(l.room) {
				return true
			}
			r.skip()
		case jsontext.KindNull:
			r.skip()
			r.odd("null in an array")
		default:
			r.drop("an object")
		}
	}
	return false
}
