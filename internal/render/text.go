package render

import (
	"strings"
	"time"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/weburl"
	"github.com/rdapq/rdapq/rdap"
)

// TextOptions configures text for people. The zero value has no colour and does not
// wrap.
type TextOptions struct {
	Color   bool      // whether to use colours
	Width   int       // number of columns at which to wrap; 0 means no wrapping
	Now     time.Time // reference for "93 days left"; zero means the time of the result
	Verbose bool      // whether to include warnings, details of the query, notices and timings

	Times     Times          // precision of dates
	Zone      *time.Location // time zone of dates; nil means UTC
	Languages []string       // preferred languages, best first; see [rdap.ParseLanguages]
}

// AppendText appends r as text for people: a headline with query and verdict, rows with
// the content of the response, then its source and connection. All untrusted text is
// [Safe].
func AppendText(dst []byte, r *client.Result, o TextOptions) []byte {
	return appendText(dst, r, o, newPalette(o.Color))
}

func appendText(dst []byte, r *client.Result, o TextOptions, colours *palette) []byte {
	if o.Now.IsZero() {
		o.Now = r.Time
	}
	p := &page{opt: o, palette: colours, buf: dst}
	switch r.Verdict {
	case client.VerdictRegistered, client.VerdictFound:
		p.answer(r)
	default:
		p.failure(r)
	}
	p.registrarRecords(r)
	p.origin(r)
	if o.Verbose {
		p.details(r)
	}
	p.relatedRecords(r)
	return p.buf
}

// answer writes the content of the response.
func (p *page) answer(r *client.Result) {
	rec, err := r.Record()
	if err != nil {
		p.verdict(r, "")
		p.blank()
		p.row("Response", line{{"unreadable: " + err.Error(), styleError}})
		return
	}
	switch rec.Class {
	case rdap.ClassDomain:
		p.domain(r, rec)
	case rdap.ClassIPNetwork:
		p.network(r, rec)
	case rdap.ClassAutnum:
		p.autnum(r, rec)
	case rdap.ClassEntity:
		p.entity(r, rec)
	case rdap.ClassNameserver:
		p.nameserver(r, rec)
	case rdap.ClassHelp:
		p.help(r, rec)
	case rdap.ClassDomainSearch, rdap.ClassNameserverSearch, rdap.ClassEntitySearch,
		rdap.ClassIPSearch, rdap.ClassAutnumSearch:
		p.search(r, rec)
	default:
		p.unknown(r, rec)
	}
	p.truncations(rec)
}

// verdict writes the headline: query and verdict.
func (p *page) verdict(r *client.Result, more string) {
	i := styleOK
	switch r.Verdict {
	case client.VerdictRegistered, client.VerdictFound:
	case client.VerdictNotFound:
		i = styleWarn
	default:
		i = styleError
	}
	words := verdictText(r.Verdict)
	if words == "" {
		words = "no verdict"
	}
	p.headline(line{{p.subject(r), styleBold}, {": ", stylePlain}, {words, i}, {more, stylePlain}})
}

// subject returns the name of the query.
func (p *page) subject(r *client.Result) string {
	name := r.Query.String()
	if r.Query.Type == client.TypeHelp && r.Server != "" {
		name = "help of " + weburl.Redact(r.Server)
	}
	if name == "" {
		return `""`
	}
	return ShownQuery(name)
}

// unknown writes an object of a class that is not in RFC 9083.
func (p *page) unknown(r *client.Result, rec *rdap.Record) {
	p.verdict(r, "")
	p.blank()
	p.value("Class", rec.Class)
	p.value("Title", rec.Title)
	for _, d := range rec.Description {
		p.row("", texts(Lines(d))...)
	}
	p.value("Name", firstOf(rec.LDHName, rec.Name))
	p.value("Handle", rec.Handle)
	p.statuses(rec.Status)
	p.events(rec.Events, nil)
	p.contacts(rec.Entities, rec.Redacted, nil)
}

// truncations writes the omissions that the server reports (RFC 9083 section 10.2.1),
// each type once.
func (p *page) truncations(rec *rdap.Record) {
	p.blank()
	var listed []string
	var lines []line
	for _, t := range rec.Truncations {
		if contains(listed, t.Type) || t.InBrief && !p.opt.Verbose {
			continue
		}
		listed = append(listed, t.Type)
		why := strings.Join(t.Notice.Description, " ")
		if why == "" && t.Notice.Title != t.Type {
			why = t.Notice.Title
		}
		lines = append(lines, line{{t.Type, styleWarn}}.and(stylePlain, truncatedPart(t.Path)).note(why))
	}
	p.row("Incomplete", lines...)
}

// truncatedPart names the object whose notice is at path, or returns "" for the response
// itself.
func truncatedPart(path string) string {
	switch member, _, _ := strings.Cut(path, "["); {
	case member == "entities":
		return ", according to a contact"
	case member == "nameservers":
		return ", according to a nameserver"
	case strings.HasSuffix(member, "SearchResults"):
		return ", according to a result"
	case strings.HasPrefix(path, "network."):
		return ", according to the network"
	}
	return ""
}

func firstOf(list ...string) string {
	for _, s := range list {
		if s != "" {
			return s
		}
	}
	return ""
}

// textShape returns the shape of text: results with an empty line between them.
func textShape(o TextOptions) shape {
	colours := newPalette(o.Color)
	return shape{between: "\n", row: func(dst []byte, r *client.Result) []byte { return appendText(dst, r, o, colours) }}
}
