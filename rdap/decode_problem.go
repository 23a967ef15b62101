package rdap

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// maxProblems limits the problems recorded for one response.
const maxProblems = 100

// A Problem is a defect of a response that could be read nevertheless.
type Problem struct {
	Path      string // location, such as "entities[0].publicIds"; empty for the whole document
	Message   string // what is wrong
	Discarded bool   // the value was discarded; false if its meaning was clear and it was read
	More      int    // number of further places with the same problem
	InRow     bool   // the value was read, but the problem is reported among the warnings of a row
}

// mergeProblems merges problems that differ only in their path. It may modify list.
func mergeProblems(list []Problem) []Problem {
	out := list[:0]
next:
	for _, p := range list {
		for i := range out {
			if o := &out[i]; o.Message == p.Message && o.Discarded == p.Discarded && o.InRow == p.InRow {
				o.More += 1 + p.More
				continue next
			}
		}
		out = append(out, p)
	}
	return out
}

// String returns path and message on one line.
func (p Problem) String() string {
	switch {
	case p.Path == "":
		return p.Message
	case p.More > 0:
		return p.Path + " and " + strconv.Itoa(p.More) + " more: " + p.Message
	}
	return p.Path + ": " + p.Message
}

// warn records that the last value has the wrong form but was read.
func (r *reader) warn(message string) { r.problem(message, false) }

// discard records that the last value was discarded.
func (r *reader) discard(message string) { r.problem(message, true) }

// warnRow records that the last value was read although other programs will not accept
// its form.
func (r *reader) warnRow(message string) {
	n := len(r.problems)
	if r.warn(message); len(r.problems) > n {
		r.problems[n].InRow = true
	}
}

// duplicate records a duplicate member if seen is true.
func (r *reader) duplicate(seen bool) {
	if seen {
		r.warn("duplicate member; the last one is used")
	}
}

func (r *reader) problem(message string, discarded bool) {
	if r.err == nil && len(r.problems) < maxProblems {
		r.problems = append(r.problems, Problem{Path: r.path(), Message: message, Discarded: discarded})
	}
}

// expected returns the message for a value of the wrong kind.
func expected(want string, found jsontext.Kind) string {
	return "expected " + want + ", found " + kindName(found)
}

func kindName(k jsontext.Kind) string {
	switch k {
	case jsontext.KindNull:
		return "null"
	case jsontext.KindTrue, jsontext.KindFalse:
		return "true or false"
	case jsontext.KindString:
		return "a string"
	case jsontext.KindNumber:
		return "a number"
	case jsontext.KindBeginObject:
		return "an object"
	case jsontext.KindBeginArray:
		return "an array"
	}
	return "nothing"
}
