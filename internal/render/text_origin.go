package render

import (
	"slices"
	"strings"
	"time"

	"github.com/rdapq/rdapq/bootstrap"
	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/timing"
	"github.com/rdapq/rdapq/internal/weburl"
	"github.com/rdapq/rdapq/rdap"
)

// origin writes the server, how the server was found, and the connection.
func (p *page) origin(r *client.Result) {
	p.blank()
	if r.Server != "" {
		p.row("Server", text(weburl.Redact(r.Server)).note(foundBy(r.Source, r.Entry)))
	}
	if first, final := weburl.Redact(r.URL), weburl.Redact(r.FinalURL); final != "" && final != first {
		p.row("Redirected", text("to "+final))
	}
	if s := connection(r); s != nil {
		p.row("Connection", s)
	}
}

// foundBy returns how a server was found.
func foundBy(source bootstrap.Source, entry string) string {
	var s string
	switch source {
	case bootstrap.SourceIANA:
		s = "IANA bootstrap"
	case bootstrap.SourceSnapshot:
		s = "built-in IANA snapshot"
	case bootstrap.SourceUnlisted:
		s = "not in IANA's list; from rdapq's own list"
	case bootstrap.SourceOverride:
		s = "your own bootstrap list"
	case bootstrap.SourceServer:
		return "from --server"
	case bootstrap.SourceReferral:
		return "via referral"
	default:
		s = string(source)
	}
	if entry != "" && s != "" {
		s += ", entry " + entry
	}
	return s
}

// connection describes the connection of the last request: "h2 · TLS 1.3 · reused · 91
// ms".
func connection(r *client.Result) line {
	var l line
	add := func(i style, s string) {
		if len(l) > 0 {
			l = l.and(stylePlain, " · ")
		}
		l = l.and(i, s)
	}
	if r.Cached {
		add(styleOK, "from cache")
	}
	t := &r.Conn
	if t.ConnID != 0 {
		if t.Protocol != "" {
			add(stylePlain, protocolName(t.Protocol))
		}
		if v := tlsVersion(t.TLS); v != "" {
			add(stylePlain, "TLS "+v)
		} else {
			add(styleWarn, "no TLS")
		}
		switch {
		case t.Reused:
			add(styleOK, "reused")
		case t.EarlyData:
			add(styleOK, "early data")
		case t.Resumed:
			add(styleOK, "resumed")
		default:
			add(stylePlain, "new")
		}
	}
	if r.Elapsed > 0 {
		add(stylePlain, duration(inMillis(r.Elapsed)))
	}
	if r.Attempts > 1 {
		add(styleWarn, count(r.Attempts, "attempt"))
	}
	if r.SharedLine != 0 {
		add(stylePlain, "shared with line "+number(r.SharedLine))
	}
	return l
}

// protocolName returns the common name of a protocol that is negotiated as "h2".
func protocolName(alpn string) string {
	switch alpn {
	case "http/1.1":
		return "HTTP/1.1"
	case "h2":
		return "HTTP/2"
	case "h3":
		return "HTTP/3"
	}
	return alpn
}

// details writes the additional rows of verbose text.
func (p *page) details(r *client.Result) {
	var steps []string
	took := timing.Of(&r.Conn).Named()
	for _, s := range append(took[:], timing.Step{Name: "total", Took: r.Conn.Total}) {
		if s.Took >= 50*time.Microsecond { // shorter times round to zero
			steps = append(steps, s.Name+" "+duration(inMillis(s.Took)))
		}
	}
	p.value("Timing", strings.Join(steps, " · "))
	p.value("Peer", r.Conn.RemoteAddr)
	p.blank()
	p.value("Query", ShownQuery(r.Query.Text))
	p.value("Type", string(r.Query.Type))
	p.value("URL", weburl.Redact(r.URL))
	if r.Status != 0 {
		p.value("HTTP status", number(int64(r.Status)))
	}
	if !r.Time.IsZero() {
		p.value("Time", p.date(rdap.Event{Raw: r.Time.UTC().Format(time.RFC3339), Time: r.Time}))
	}
	var warnings []line
	for _, w := range r.Warnings {
		warnings = append(warnings, line{{w.Message, styleWarn}})
	}
	p.row("Warnings", warnings...)
	rec, err := r.Record()
	if err != nil {
		return
	}
	var problems []line
	for _, problem := range slices.Concat(rec.Problems, rec.CardProblems()) {
		l := text(problem.String())
		if problem.Discarded {
			l = l.and(styleWarn, " (omitted)")
		}
		problems = append(problems, l)
	}
	p.row("Problems", problems...)
	p.value("Conformance", strings.Join(rec.Conformance, " "))
	for _, n := range p.inLanguage(rec.Notices) {
		p.blank()
		p.notice("Notice", n)
	}
}

// notice writes a notice or remark in full.
func (p *page) notice(name string, n rdap.Notice) {
	var lines []line
	if n.Title != "" {
		lines = append(lines, line{{n.Title, styleBold}})
	}
	for _, d := range n.Description {
		lines = append(lines, texts(Lines(d))...)
	}
	for _, l := range n.Links {
		if l.Href != "" {
			lines = append(lines, line{{l.Href, styleDim}})
		}
	}
	p.row(name, lines...)
}
