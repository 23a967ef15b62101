package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/render"
	"github.com/rdapq/rdapq/limit"
)

// onHold warns that a server's lines are held back, and why. The client calls it once per
// server and reason.
func (a *app) onHold(h client.Hold) { a.warn(holdText(h, time.Now())) }

func holdText(h client.Hold, now time.Time) string {
	var b strings.Builder
	b.WriteString(render.Safe(h.Server))
	status := ""
	if h.Status != 0 {
		status = fmt.Sprintf(" (HTTP status %d)", h.Status)
	}
	switch h.Reason {
	case client.HoldLimit:
		b.WriteString(" limits requests" + status)
		if !h.Rate.IsZero() {
			b.WriteString(": sending " + rateText(h.Rate))
		}
	case client.HoldOutage:
		b.WriteString(" fails or does not respond" + status + ": its lines are retried when it recovers")
	case client.HoldBlocked:
		b.WriteString(" rejects every request with a non-RDAP response" + status + ": its lines wait")
	}
	if wait := h.Until.Sub(now).Round(time.Second); wait > 0 {
		b.WriteString("; next request in " + render.Span(wait))
	}
	return b.String()
}

// rateText formats a rate, such as "60 requests per 1m".
func rateText(r limit.Rate) string {
	r.Per = r.Per.Round(time.Millisecond)
	_, per, _ := strings.Cut(r.String(), "/")
	return render.Plural(int64(r.N), "request") + " per " + per
}

// maxHeld limits the held-back servers listed in a summary.
const maxHeld = 10

// heldLines returns the lines of a summary about servers that were held back, sorted by
// refused requests.
func heldLines(servers []client.ServerProgress) []string {
	held := slices.DeleteFunc(slices.Clone(servers), func(s client.ServerProgress) bool { return s.Held == "" })
	slices.SortStableFunc(held, func(a, b client.ServerProgress) int { return int(b.Refused - a.Refused) })
	var lines []string
	for i, s := range held {
		if i == maxHeld {
			lines = append(lines, "also held back: "+render.Plural(int64(len(held)-i), "server"))
			break
		}
		line := "held back: " + render.Safe(s.Server)
		switch s.Held {
		case client.HoldLimit:
			line += fmt.Sprintf(", %s refused by its rate limit", render.Plural(s.Refused, "request"))
			if !s.Rate.IsZero() {
				line += ", limit " + rateText(s.Rate)
			}
		case client.HoldOutage:
			line += ", failed or did not respond for a while"
			if s.Dead {
				line = "held back: " + render.Safe(s.Server) + ", failed or did not respond until the end"
			}
		case client.HoldBlocked:
			line += ", rejected requests with non-RDAP responses"
		}
		lines = append(lines, line)
	}
	return lines
}
