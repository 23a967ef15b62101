package render

import (
	"strings"
	"time"

	"github.com/rdapq/rdapq/client"
)

// refusal writes why there is no answer, and what the server said about it.
func (p *page) refusal(r *client.Result) {
	e := r.Err
	if e == nil {
		p.verdict(r, "")
		return
	}
	reason := reasonOf(e)
	// "not found (404) at https://…" is the verdict and who said it.
	if more, ok := strings.CutPrefix(reason, verdictWords(r.Verdict)); ok && r.Verdict != "" {
		p.verdict(r, more)
		reason = ""
	} else {
		p.verdict(r, "")
	}
	p.gap()
	p.value("Reason", reason)
	var said []line
	if e.Title != "" {
		said = append(said, texts(Lines(e.Title))...)
	}
	for _, d := range e.Detail {
		if d != e.Title {
			said = append(said, texts(Lines(d))...)
		}
	}
	p.row("Server says", said...)
	if e.RetryAfter > 0 && e.Hint == "" {
		p.value("Come back", "in "+duration(inMillis(e.RetryAfter.Round(time.Second))))
	}
	p.value("Hint", e.Hint)
}

// reasonOf returns the message without the server's own words at its end, which
// have rows of their own where they are whole.
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
