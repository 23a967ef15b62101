package client

import (
	"context"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/rdapq/rdapq/bootstrap"
	"github.com/rdapq/rdapq/internal/weburl"
	"github.com/rdapq/rdapq/rdap"
)

// A linkWalk follows the links of a record, one after another. Each link is a stage of
// the lookup's task, so that it waits for its server like any other request.
type linkWalk struct {
	origin  bootstrap.Answer // the server that the root is from: one URL
	current linkTarget       // link of the stage; its from is nil at first
	pending []linkTarget     // links to follow, in this order
	seen    map[string]bool  // URLs by sameLink: each is requested once
	parked  int64            // bytes of bodies, see park
}

// linkStage requests one link of a record.
type linkStage struct{}

func (linkStage) requestURL(t *task, base string) string {
	return t.result.Query.requestURL(base, SearchOptions{})
}

func (linkStage) complete(_ context.Context, c *Client, t *task) (more bool) {
	c.recordLink(t)
	return c.nextLink(t)
}

// interrupt goes on with the other links, which may be at other servers.
func (s linkStage) interrupt(ctx context.Context, c *Client, t *task) (more bool) {
	return s.complete(ctx, c, t)
}

// nextLink reports whether it has prepared the stage of another link.
func (c *Client) nextLink(t *task) (more bool) {
	walk := t.walk
	for len(walk.pending) > 0 {
		p := walk.pending[0]
		walk.pending = walk.pending[1:]
		if key := sameLink(p.to); !walk.seen[key] {
			walk.seen[key] = true
			if c.startLink(t, p) {
				return true
			}
		}
	}
	t.servers, t.server = walk.origin, 0
	c.unpark(t)
	return false
}

// chases begins a chase if there is something to follow.
func (c *Client) startWalk(ctx context.Context, t *task) bool {
	registrar, relations := c.linksWanted(t.result)
	if !registrar && !relations || ctx.Err() != nil {
		return false
	}
	r := t.result
	base, rec := r.decodeRecord()
	if rec == nil {
		return false
	}
	walk := &linkWalk{seen: make(map[string]bool), origin: t.servers}
	walk.origin.URLs = []string{t.servers.URLs[t.server]}
	own := r.selfURLs(rec, base)
	if registrar {
		walk.pending = c.registrarTargets(r, rec, base, own, 1)
	}
	if relations {
		related := c.relationTargets(r, rec, base)
		c.warnUnlinked(r, related, own)
		walk.pending = append(walk.pending, related...)
	}
	if len(walk.pending) == 0 {
		return false
	}
	walk.markSeen(own)
	t.walk = walk
	return true
}

// reread returns the record of an answer and where it came from.
func (r *Result) decodeRecord() (base *url.URL, rec *rdap.Record) {
	base, err := url.Parse(r.FinalURL)
	if err != nil {
		return nil, nil
	}
	rec, err = r.Record()
	if err != nil {
		return nil, nil
	}
	return base, rec
}

// see notes what a record was asked for as, and what it calls itself: neither is
// asked for again (RFC 9083 section 4.2).
func (walk *linkWalk) markSeen(own []*url.URL) {
	for _, u := range own {
		walk.seen[sameLink(u)] = true
	}
}

// names are all URLs of a record.
func (r *Result) selfURLs(rec *rdap.Record, base *url.URL) []*url.URL {
	list := append(selfLinks(rec.Links, base), base)
	if u, err := url.Parse(r.URL); err == nil {
		list = append(list, u)
	}
	return list
}

// turn makes the task one for p. It is false if p can't be asked; the result
// that says why stands in its place then.
func (c *Client) startLink(t *task, p linkTarget) bool {
	walk := t.walk
	if u, err := url.Parse(c.auth.stripKeys(p.to.String())); err == nil {
		p.to = u
	}
	r := &Result{Line: t.root.Line, Query: p.query(), Relation: p.relation, Source: p.source, Entry: p.entry}
	r.Server, r.URL = weburl.Redact(splitLink(p.to).base), weburl.Redact(p.to.String())
	r.FinalURL = r.URL
	if e := c.checkLink(t, p); e != nil {
		r.Time = time.Now()
		e.Server, e.URL = r.Server, r.URL
		r.fail(e)
		t.attach(p, r)
		return false
	}
	walk.current = p
	t.servers = bootstrap.Answer{URLs: []string{r.Server}, Source: p.source, Entry: p.entry}
	t.server = 0
	t.nextStage(linkStage{}, r)
	return true
}

func (c *Client) checkLink(t *task, p linkTarget) *Error {
	if p.to.Scheme == "http" && !c.cfg.AllowHTTP {
		return &Error{
			Code: CodeHTTPOnly, Err: bootstrap.ErrHTTPOnly,
			Message: "the link leads to plain http and is not followed: " + visible(weburl.Redact(p.to.String())),
			Hint:    "allow http if an answer that anybody on the way may change is of use",
		}
	}
	if c.leaksTo(t, p.to) {
		return &Error{Code: CodeRedirect, Message: "the link leads to another server, " + visible(p.to.Host) + ", with a credential that is not for it, and is not followed"}
	}
	if !c.park(t) {
		return &Error{Code: CodeTooLarge, Message: "not asked: too many answers are in memory", Hint: "run fewer lookups at once", HintCode: HintJobs}
	}
	return nil
}

// park takes the body of what was answered out of the account of bodies in
// memory: it stays there until the chase ends, and those who read bodies must
// not wait for that. What is parked has a bound of its own.
func (c *Client) park(t *task) bool {
	n := t.reserved
	if c.parked.Add(n) > c.cfg.MaxMemory/4 {
		c.parked.Add(-n)
		return false
	}
	t.memory.release(t)
	t.walk.parked += n
	return true
}

// unpark gives the task all bodies of its results to account for.
func (c *Client) unpark(t *task) {
	n := t.walk.parked
	t.walk.parked = 0
	c.parked.Add(-n)
	t.memory.used.Add(n) // it is there, whether there is room or not
	t.reserved += n
}

// settle does what follows from the result of what was pointed to.
func (c *Client) recordLink(t *task) {
	walk, r, p := t.walk, t.result, t.walk.current
	if r.Time.IsZero() {
		r.Time = time.Now() // it was not asked
	}
	walk.rejectSeen(r)
	t.attach(p, r)
	if r.Err != nil && r.Err.Code == CodeCanceled {
		walk.pending = nil
		return
	}
	if p.relation != "" || r.Verdict != Registered {
		return
	}
	// The others were other ways to the same.
	walk.pending = slices.DeleteFunc(walk.pending, func(other linkTarget) bool { return other.relation == "" && other.from == p.from })
	base, rec := r.decodeRecord()
	if rec == nil {
		return
	}
	own := r.selfURLs(rec, base)
	more := slices.DeleteFunc(c.registrarTargets(r, rec, base, own, p.depth+1), func(m linkTarget) bool {
		if walk.seen[sameLink(m.to)] {
			t.root.warn(WarnLinksCut, "related links lead round in a circle, which is cut: "+visible(r.URL)+" points back to "+visible(weburl.Redact(m.to.String())))
			return true
		}
		return false
	})
	walk.markSeen(own)
	if len(more) > 0 && p.depth >= c.cfg.ReferralDepth {
		t.root.warn(WarnLinksCut, "related links go on after "+strconv.Itoa(p.depth)+" and are not followed: "+visible(weburl.Redact(more[0].to.String())))
		more = nil
	}
	walk.pending = append(more, walk.pending...)
}

// refuseKnown refuses an answer that a redirect led to and that has been had
// before: the registrar that sends on to the registry's record has none.
func (walk *linkWalk) rejectSeen(r *Result) {
	if r.FinalURL == r.URL || r.Err != nil {
		return
	}
	asked, err := url.Parse(r.URL)
	final, e := url.Parse(r.FinalURL)
	if err != nil || e != nil || sameLink(asked) == sameLink(final) || !walk.seen[sameLink(final)] {
		return
	}
	r.Raw = nil
	r.fail(&Error{
		Code: CodeRedirect, Server: r.Server, URL: r.URL, Status: r.Status,
		Message: "the redirect of " + visible(r.URL) + " leads back to what was asked before: " + visible(r.FinalURL),
	})
}

// attach puts a result where it belongs. Of several ways to the registrar the
// last one tried counts that led there, or else the first.
func (t *task) attach(p linkTarget, r *Result) {
	switch {
	case p.relation != "":
		t.root.Related = append(t.root.Related, r)
	case p.from.Registrar == nil || r.Verdict == Registered:
		p.from.Registrar = r
	}
}
