package client

import (
	"log/slog"
	"time"

	"github.com/rdapq/rdapq/pool"
)

// An Attempt describes one request of a lookup, with its redirects: see Config.OnAttempt. The
// requests for the pages of a search and for linked records are attempts of their own.
type Attempt struct {
	Query    Query         // the query of the request: for a search, first that of the server's help
	Number   int           // number of the request for Query, from 1, as Result.Attempts
	Server   string        // base URL of the server
	URL      string        // URL of the request, without keys
	FinalURL string        // URL of the response, after redirects, without keys
	Status   int           // HTTP status; 0 without a response
	Code     Code          // code of the error, also for VerdictNotFound; empty if the query was answered otherwise
	Trace    pool.Trace    // connection of the last request
	Waited   time.Duration // part of Result.Waited before this attempt
	Cached   bool          // the response is from the cache
}

// note reports an attempt whose outcome is r.
func (a *attempt) note(r *Result) {
	t, cfg := a.task, &a.c.cfg
	waited := t.waited
	t.waited = 0
	debug := cfg.Logger.Enabled(a.outer, slog.LevelDebug)
	if cfg.OnAttempt == nil && !debug {
		return
	}
	code := Code("")
	if e := r.reason(); e != nil {
		code = e.Code
	}
	if debug {
		cfg.Logger.DebugContext(a.outer, "request", "url", r.URL, "attempt", r.Attempts, "status", r.Status, "code", string(code), "waited", waited, "cached", r.Cached)
	}
	if cfg.OnAttempt != nil {
		cfg.OnAttempt(a.outer, Attempt{
			Query: r.Query, Number: r.Attempts, Server: r.Server, URL: r.URL, FinalURL: r.FinalURL, Status: r.Status,
			Code: code, Trace: r.Conn, Waited: waited, Cached: r.Cached,
		})
	}
}
