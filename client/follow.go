package client

import (
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rdapq/rdapq/bootstrap"
	"github.com/rdapq/rdapq/internal/rdaplink"
	"github.com/rdapq/rdapq/internal/weburl"
	"github.com/rdapq/rdapq/rdap"
)

// A linkWalk follows the links of a record, one after another. Each link is a stage of
// the lookup's task, so that it waits for its server like any other request.
type linkWalk struct {
	origin  bootstrap.Answer // server that sent the root; it has one URL
	current linkTarget       // link of the current stage; from is nil at first
	pending []linkTarget     // links to follow, in this order
	seen    map[string]bool  // requested URLs, by rdaplink.Key
	parked  int64            // bytes of parked bodies, see park
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

// interrupt continues with the other links, which may be at other servers.
func (s linkStage) interrupt(ctx context.Context, c *Client, t *task) (more bool) {
	return s.complete(ctx, c, t)
}

// nextLink reports whether it has prepared the stage of another link.
func (c *Client) nextLink(t *task) (more bool) {
	walk := t.walk
	for len(walk.pending) > 0 {
		p := walk.pending[0]
		walk.pending = walk.pending[1:]
		if key := rdaplink.Key(p.to); !walk.seen[key] {
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

// startWalk collects the links to follow from a result. It reports whether there are any.
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

// markSeen records the URL of a record and its links to itself, so that no walk requests the
// record again (RFC 9083 section 4.2).
func (walk *linkWalk) markSeen(own []*url.URL) {
	for _, u := range own {
		walk.seen[rdaplink.Key(u)] = true
	}
}

// startLink prepares the stage of p. It returns false if p cannot be requested, after it
// has attached a result with the reason.
func (c *Client) startLink(t *task, p linkTarget) bool {
	walk := t.walk
	if u, err := url.Parse(c.auth.StripKeys(p.to.String())); err == nil {
		p.to = u
	}
	r := &Result{Line: t.root.Line, Query: p.query(), Relation: p.relation, Source: p.source, Entry: p.entry}
	r.Server, r.URL = weburl.Redact(rdaplink.Split(p.to).Base), weburl.Redact(p.to.String())
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

// checkLink returns an error if a link must not be followed.
func (c *Client) checkLink(t *task, p linkTarget) *Error {
	if p.to.Scheme == "http" && !c.cfg.AllowHTTP {
		return &Error{
			Code: CodeHTTPOnly, Err: bootstrap.ErrHTTPOnly,
			Message: "link to plain http not followed: " + visible(weburl.Redact(p.to.String())),
			Hint:    hintPlainHTTP,
		}
	}
	if c.leaksTo(t, p.to) {
		return &Error{Code: CodeRedirect, Message: "link not followed: it would send a credential to another server, " + visible(p.to.Host)}
	}
	if !c.park(t) {
		return &Error{Code: CodeTooLarge, Message: "link not followed: too many responses are in memory", Hint: "run fewer lookups at a time", HintCode: HintJobs}
	}
	return nil
}

// park moves the body of the last response from the memory budget to that of parked bodies,
// which has its own limit. The body stays in memory until the walk ends, and readers of other
// bodies must not wait until then.
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

// unpark charges the parked bodies to the task again.
func (c *Client) unpark(t *task) {
	n := t.walk.parked
	t.walk.parked = 0
	c.parked.Add(-n)
	t.memory.used.Add(n) // even above the limit: the bodies are in memory already
	t.reserved += n
}

// recordLink attaches the result of a link and collects the links of its record.
func (c *Client) recordLink(t *task) {
	walk, r, p := t.walk, t.result, t.walk.current
	if r.Time.IsZero() {
		r.Time = time.Now() // no request was sent
	}
	walk.rejectSeen(r)
	t.attach(p, r)
	if r.reason().canceled() {
		walk.pending = nil
		return
	}
	if p.relation != "" || r.Verdict != VerdictRegistered {
		return
	}
	// The other links of the record refer to the same registrar.
	walk.pending = slices.DeleteFunc(walk.pending, func(other linkTarget) bool { return other.relation == "" && other.from == p.from })
	base, rec := r.decodeRecord()
	if rec == nil {
		return
	}
	own := r.selfURLs(rec, base)
	more := slices.DeleteFunc(c.registrarTargets(r, rec, base, own, p.depth+1), func(m linkTarget) bool {
		if walk.seen[rdaplink.Key(m.to)] {
			t.root.warn(WarnLinksCut, "loop in related links, stopped: "+visible(r.URL)+" links back to "+visible(weburl.Redact(m.to.String())))
			return true
		}
		return false
	})
	walk.markSeen(own)
	if len(more) > 0 && p.depth >= c.cfg.ReferralDepth {
		t.root.warn(WarnLinksCut, "chain of related links longer than "+strconv.Itoa(p.depth)+", not followed further: "+visible(weburl.Redact(more[0].to.String())))
		more = nil
	}
	walk.pending = append(more, walk.pending...)
}

// rejectSeen rejects a response if a redirect pointed to a record that was already read. A
// registrar that redirects to the registry's record has no record of its own.
func (walk *linkWalk) rejectSeen(r *Result) {
	if r.FinalURL == r.URL || r.reason() != nil {
		return
	}
	asked, err := url.Parse(r.URL)
	final, e := url.Parse(r.FinalURL)
	if err != nil || e != nil || rdaplink.Key(asked) == rdaplink.Key(final) || !walk.seen[rdaplink.Key(final)] {
		return
	}
	r.Raw = nil
	r.fail(&Error{
		Code: CodeRedirect, Server: r.Server, URL: r.URL, Status: r.Status,
		Message: "redirect loop: " + visible(r.URL) + " redirects to a record that was already read: " + visible(r.FinalURL),
	})
}

// attach adds the result of a link to the record that has the link. If there are several links
// to the registrar, the last one with a record counts, or else the first one.
func (t *task) attach(p linkTarget, r *Result) {
	switch {
	case p.relation != "":
		t.root.Related = append(t.root.Related, r)
	case p.from.Registrar == nil || r.Verdict == VerdictRegistered:
		p.from.Registrar = r
	}
}

// linksWanted reports which links of a result are followed: the link to the registrar, and the
// links of Config.Related.
func (c *Client) linksWanted(r *Result) (registrar, relations bool) {
	if r.Verdict != VerdictRegistered && r.Verdict != VerdictFound || r.Registrar != nil || r.Related != nil {
		return false, false
	}
	switch r.Query.Type {
	case TypeDomain:
		mode := r.Query.Referral
		if mode == "" {
			mode = c.cfg.Referral
		}
		registrar = mode == ReferralRegistrar && r.Verdict == VerdictRegistered && !strings.HasSuffix(r.Query.Name, ".arpa")
		return registrar, len(c.cfg.Related) > 0
	case TypeIP, TypeAutnum:
		return false, len(c.cfg.Related) > 0
	}
	return false, false
}

// registrarTargets returns links to the registrar's record of r's domain, except links to the
// record itself.
func (c *Client) registrarTargets(r *Result, rec *rdap.Record, base *url.URL, own []*url.URL, depth int) []linkTarget {
	var list []linkTarget
	for _, u := range rdaplink.Registrar(rec, r.Query.Name, r.Query.Path(), base) {
		if !isAmong(u, own) {
			list = append(list, linkTarget{to: u, from: r, depth: depth, source: bootstrap.SourceReferral})
		}
	}
	if len(list) > 0 || depth > 1 {
		return list[:min(len(list), maxLinks)]
	}
	registrar := rdap.FindRole(rec.Entities, "registrar")
	if registrar == nil {
		return nil
	}
	id := rdap.RegistrarID(registrar.PublicIDs)
	server, users := c.registrarURL(id)
	if server == "" {
		return nil
	}
	u := rdaplink.Join(server, r.Query.Path())
	if u == nil {
		return nil
	}
	p := linkTarget{to: u, from: r, depth: depth, source: bootstrap.SourceReferral, entry: "IANA registrar " + id}
	if users {
		p.source = bootstrap.SourceOverride
	}
	return []linkTarget{p}
}

// relationTargets returns the links of Config.Related.
func (c *Client) relationTargets(r *Result, rec *rdap.Record, base *url.URL) []linkTarget {
	var list []linkTarget
	for _, relation := range c.cfg.Related {
		links := rdaplink.Relation(rec, string(relation), base)
		for _, u := range links[:min(len(links), maxLinks)] {
			list = append(list, linkTarget{to: u, relation: relation, from: r, depth: 1, source: bootstrap.SourceReferral})
		}
	}
	return list
}

// warnUnlinked warns of relations of Config.Related without a link, because a missing
// element of Result.Related could also be a failure.
func (c *Client) warnUnlinked(r *Result, related []linkTarget, own []*url.URL) {
	for i, relation := range c.cfg.Related {
		linked := func(p linkTarget) bool { return p.relation == relation && !isAmong(p.to, own) }
		if !slices.ContainsFunc(related, linked) && !slices.Contains(c.cfg.Related[:i], relation) {
			r.warn(WarnNoLink, "the record has no link with relation "+string(relation))
		}
	}
}
