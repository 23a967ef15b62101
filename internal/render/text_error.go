package render

import (
	"cmp"
	"net/http"
	"strings"
	"time"
	"unicode"

	"github.com/rdapq/rdapq/bootstrap"
	"github.com/rdapq/rdapq/client"
)

// ErrorOf returns the Refusal or the Failure of a result, or nil if it has neither.
func ErrorOf(r *client.Result) *client.Error { return cmp.Or(r.Refusal, r.Failure) }

// failure writes why there is no result, and adds the server's explanation.
func (p *page) failure(r *client.Result) {
	e := ErrorOf(r)
	if e == nil {
		p.verdict(r, "")
		return
	}
	reason := reasonOf(e)
	if r.Verdict == client.VerdictNotFound && r.Status == http.StatusNotFound {
		p.notFound(r)
		return
	}
	// "not found (404) at https://…" starts with the verdict.
	if more, ok := strings.CutPrefix(reason, verdictText(r.Verdict)); ok && r.Verdict != "" {
		p.verdict(r, more)
		reason = ""
	} else {
		p.verdict(r, "")
	}
	p.blank()
	p.value("Reason", reason)
	p.serverMessage(e)
	if e.RetryAfter > 0 && e.Hint == "" {
		p.value("Retry after", duration(inMillis(e.RetryAfter.Round(time.Second))))
	}
	p.value("Hint", e.Hint)
}

// notFound writes that the server has no record of the object, and adds caveats.
func (p *page) notFound(r *client.Result) {
	p.verdict(r, "")
	p.blank()
	who, what := "the server", "it"
	switch r.Source {
	case bootstrap.SourceIANA, bootstrap.SourceSnapshot, bootstrap.SourceUnlisted:
		who = "the registry"
	}
	switch r.Query.Type {
	case client.TypeDomain, client.TypeNameserver, client.TypeEntity:
		what = "this " + string(r.Query.Type)
	case client.TypeIP:
		what = "this network"
		if r.Query.Prefix.IsSingleIP() {
			what = "this address"
		}
	case client.TypeAutnum:
		what = "this AS number"
	}
	lines := []line{text(who + " has no record of " + what).note("HTTP status 404")}
	if r.IsNotFoundWithoutRDAP() {
		lines = append(lines, line{{"the response is not RDAP and may be about something else", styleWarn}})
	}
	if r.Query.Type == client.TypeDomain {
		lines = append(lines, line{{"reserved and blocked names may return the same result", styleDim}})
	}
	if written := strings.TrimSpace(r.Query.Text); r.Query.Name != "" && strings.ContainsFunc(written, func(c rune) bool { return c > unicode.MaxASCII }) {
		p.value("Unicode", written) // people hardly recognize the A-labels of the headline
	}
	p.row("Result", lines...)
	e := ErrorOf(r)
	p.serverMessage(e)
	p.value("Hint", e.Hint)
}

// serverMessage writes the server's own explanation.
func (p *page) serverMessage(e *client.Error) {
	var said []line
	if e.Title != "" {
		said = append(said, texts(Lines(e.Title))...)
	}
	for _, d := range e.Detail {
		if d != e.Title {
			said = append(said, texts(Lines(d))...)
		}
	}
	p.row("Message", said...)
}

// reasonOf returns the message without the server's explanation at the end, which serverMessage
// writes in full.
func reasonOf(e *client.Error) string {
	said := e.Title
	if said == "" && len(e.Detail) > 0 {
		said = e.Detail[0]
	}
	if said = strings.Join(strings.Fields(said), " "); said == "" {
		return e.Message
	}
	if i := strings.Index(e.Message, ": "+Safe(said)); i > 0 {
		return e.Message[:i]
	}
	return e.Message
}
