package main

import "github.com/rdapq/rdapq/client"

// statusCodes are the codes of --exit-status; the first that applies counts.
var statusCodes = []struct {
	verdict client.Verdict
	code    int
}{
	{client.Failed, 1},
	{client.Invalid, 1},
	{client.RateLimited, 6},
	{client.Rejected, 7},
	{client.NoService, 5},
	{client.NotFound, 4},
}

// exitCodes remembers the verdicts of a run.
type exitCodes struct{ seen map[client.Verdict]bool }

func (e *exitCodes) add(v client.Verdict) {
	if e.seen == nil {
		e.seen = make(map[client.Verdict]bool)
	}
	e.seen[v] = true
}

func (e *exitCodes) code(status bool) int {
	for _, d := range statusCodes {
		switch {
		case !e.seen[d.verdict]:
		case status:
			return d.code
		case !d.verdict.Answered():
			return exitSomeFail
		}
	}
	return exitOK
}
