package rdap

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// maxProblems bounds what is remembered of an answer that is wrong all over.
const maxProblems = 100

// A Problem is one thing wrong with an answer that was read nevertheless.
type Problem struct {
	Path      string // where in the document: "entities[0].publicIds"; empty for the document as a whole
	Message   string // what is wrong there, one sentence
	Discarded bool   // the value was given up; false when its meaning was plain and it was read
	More      int    // how many other places have the same problem, which is reported once
	InRow     bool   // it was read, and belongs among the warnings of a row as what was given up does
}

// mergeProblems makes one problem of those that are alike but for their place. It
// may change list.
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

// warn records that the value just read has a form that it should not have.
func (r *reader) warn(message string) { r.problem(message, false) }

// discard records that the value just read was given up.
func (r *reader) discard(message string) { r.problem(message, true) }

// warnRow records that the value just read was read in spite of a form that other
// programs will not read.
func (r *reader) warnRow(message string) {
	n := len(r.problems)
	if r.warn(message); len(r.problems) > n {
		r.problems[n].InRow = true
	}
}

// duplicate records that a member stands twice in an object.
func (r *reader) duplicate(already bool) {
	if already {
		r.warn("duplicate member; the last one is used")
	}
}

func (r *reader) problem(message string, lost bool) {
	if r.err == nil && len(r.problems) < maxProblems {
		r.problems = append(r.problems, Problem{Path: r.path(), Message: message, Discarded: lost})
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
