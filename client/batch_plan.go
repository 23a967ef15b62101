package client

import (
	"context"
	"iter"
	"time"
)

// A Plan is what a Batch of the same inputs would do.
type Plan struct {
	Lines       int64         // inputs
	Queries     int64         // of them, those that a server is known for, duplicates not counted
	Duplicates  int64         // inputs that ask what an earlier one asks
	Approximate bool          // there were too many inputs to know all duplicates: Duplicates may be too low
	Invalid     int64         // inputs that are no query, and those that could not be read
	Errors      []PlanError   // the first of Invalid, at most 100
	Unsupported []PlanZone    // what no server is known for, most lines first
	Servers     []PlanServer  // what is asked where, most lines first
	Time        time.Duration // how long it takes, see PlanServer.Time
}

// A PlanError is an input that is no query.
type PlanError struct {
	Line int64
	Text string
	Err  *Error
}

// A PlanZone counts the inputs that no server is known for.
type PlanZone struct {
	Zone  string // ".zz" for names, otherwise the type of the query
	Lines int64
}

// A PlanServer is what one server, or one group of hosts, would be asked.
type PlanServer struct {
	Server  string // host, or name of the group
	Lines   int64  // inputs
	Queries int64  // of them, those that are no duplicates
	Rate    Rate   // the limit that is kept to; zero: none known
	// Time is how long the queries take at the least: by the limit if there is
	// one, otherwise at 100 ms an answer and as many at once as are allowed.
	Time time.Duration
}

// Plan reads inputs to their end and returns what a Batch would do with them.
// It sends nothing to any of the servers. The error is that of ctx.
func (c *Client) Plan(ctx context.Context, inputs iter.Seq2[Input, error]) (*Plan, error) {
	p := new(Plan)
	for range inputs {
		p.Lines++
		if ctx.Err() != nil {
			return p, ctx.Err()
		}
	}
	return p, nil
}
