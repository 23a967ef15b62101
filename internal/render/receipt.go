package render

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/pool"
)

// maxReceiptServers limits the servers in a receipt.
const maxReceiptServers = 5

// WriteReceipt writes the statistics of a run and the savings by reuse for people: a sentence
// and labelled lines. width is the width of the terminal in columns, or 0 without a terminal.
// WriteReceipt returns the error of w.
func WriteReceipt(w io.Writer, r Report, width int) error {
	if width <= 0 || width > receiptWidth {
		width = receiptWidth
	}
	var b strings.Builder
	b.WriteString(folded(headline(r), "  ", width))
	line := func(label, value string) {
		if value != "" {
			b.WriteString(folded(fmt.Sprintf("  %-9s %s", label, value), strings.Repeat(" ", 12), width))
		}
	}
	if r.Handshakes.Avoided > 0 || r.TripsAvoided > 0 {
		line("avoided", plural(r.Handshakes.Avoided, "handshake")+" · "+plural(r.TripsAvoided, "round trip"))
		line("saved", savedLine(r.MS))
	}
	line("verdicts", Verdicts(r.Verdicts))
	line("desync", desyncLine(r))
	if r.Lookups > 0 {
		line("time", timeLine(r))
	}
	if r.Requests > 0 || r.BootstrapRequests > 0 {
		line("traffic", trafficLine(r))
	}
	label := "servers"
	for i, s := range r.PerServer {
		if i == maxReceiptServers && len(r.PerServer) > maxReceiptServers+1 {
			line(label, fmt.Sprintf("and %d more", len(r.PerServer)-i))
			break
		}
		line(label, serverLine(s))
		label = ""
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// savedLine returns the estimated additional duration without reuse, or the reason why it is
// unknown.
func savedLine(ms TimeReport) string {
	switch {
	case ms.Saved != nil && *ms.Saved < max(1, ms.Wall/20):
		return "about 0 ms: lookups waited for the same handshakes concurrently"
	case ms.Saved != nil:
		return "about " + duration(*ms.Saved)
	}
	return "unknown: " + map[pool.SavedUnknown]string{
		pool.SavedThrottled: "a server rate-limited the requests",
		pool.SavedBroke:     "requests or connections failed",
		pool.SavedUnbound:   "the number of concurrent requests varied",
		pool.SavedForgotten: "there were too many servers",
	}[ms.Unknown]
}

// desyncLine explains the warning desync. It returns "" if no result has that warning.
func desyncLine(r Report) string {
	if r.Desync == 0 {
		return ""
	}
	return plural(r.Desync, "result") + " with this warning: HTTP/1.1 responses did not match their requests"
}

// receiptWidth is the maximum width of a receipt, in characters.
const receiptWidth = 80

// folded breaks a line before the part that exceeds the width. Middle dots and commas separate
// parts. It indents continuation lines.
func folded(line, indent string, width int) string {
	var b strings.Builder
	used := 0
	for line != "" {
		part := line
		if end := foldAt.FindStringIndex(line); end != nil {
			part = line[:end[1]]
		}
		line = line[len(part):]
		if n := utf8.RuneCountInString(strings.TrimRight(part, " ·")); used > 0 && used+n > width {
			b.WriteString("\n" + indent)
			used = len(indent)
		}
		b.WriteString(part)
		used += utf8.RuneCountInString(part)
	}
	return trailing.ReplaceAllString(b.String(), "\n") + "\n"
}

// foldAt matches the places where a line may end, and trailing matches the separators left
// there.
var (
	foldAt   = regexp.MustCompile(`, | · `)
	trailing = regexp.MustCompile(`( ·)? +\n`)
)

// headline summarizes the run in one sentence: "3 lookups over 1 connection: 1 full
// handshake, 2 avoided".
func headline(r Report) string {
	s := plural(r.Lookups, "lookup")
	if r.Connections == 0 {
		return s
	}
	s += " over " + plural(r.Connections, "connection")
	h := r.Handshakes
	var parts []string
	if h.Full > 0 {
		parts = append(parts, plural(h.Full, "full handshake"))
	}
	if h.Resumed > 0 {
		part := grouped(h.Resumed) + " resumed"
		if h.EarlyData > 0 {
			part += " (" + grouped(h.EarlyData) + " with early data)"
		}
		parts = append(parts, part)
	}
	if h.Avoided > 0 {
		parts = append(parts, grouped(h.Avoided)+" avoided")
	}
	if len(parts) == 0 {
		return s
	}
	return s + ": " + strings.Join(parts, ", ")
}

// verdictOrder lists the verdicts from good to bad.
var verdictOrder = [...]client.Verdict{
	client.VerdictRegistered, client.VerdictFound, client.VerdictNotFound, client.VerdictNoService,
	client.VerdictRateLimited, client.VerdictRejected, client.VerdictFailed, client.VerdictInvalid,
}

// Verdicts returns the number of results with each verdict as text: "2 registered, 1 not
// found". Without results, the text is empty.
func Verdicts(counts map[string]int64) string {
	var parts []string
	for _, v := range verdictOrder {
		if n := counts[string(v)]; n > 0 {
			parts = append(parts, grouped(n)+" "+verdictText(v))
		}
	}
	return strings.Join(parts, ", ")
}

// verdictText returns a verdict in words.
func verdictText(v client.Verdict) string { return strings.ReplaceAll(string(v), "_", " ") }

func timeLine(r Report) string {
	s := duration(r.MS.Wall) + " total"
	if r.MS.P50 > 0 && r.Lookups > 1 {
		s += " · p50 " + duration(r.MS.P50) + " · p95 " + duration(r.MS.P95)
	}
	if r.Lookups > 1 && r.MS.Wall >= 1 {
		if rate := float64(r.Lookups) / r.MS.Wall * 1000; rate >= 10 {
			s += " · " + grouped(int64(rate)) + "/s"
		}
	}
	return s
}

func trafficLine(r Report) string {
	s := plural(r.Requests, "request") + " · " + byteCount(r.BytesIn) + " received"
	switch same := r.RetriesSameConn; {
	case r.Retries == 0:
	case same == 0:
		s += " · " + grouped(r.Retries) + " retried on another connection"
	case same >= r.Retries:
		s += " · " + grouped(r.Retries) + " retried on the same connection"
	default:
		s += " · " + grouped(r.Retries) + " retried, " + grouped(same) + " of them on the same connection"
	}
	if r.BootstrapRequests > 0 {
		s += " · " + grouped(r.BootstrapRequests) + " more for bootstrap files"
	}
	return s
}

func serverLine(s ServerReport) string {
	out := Safe(shortURL(s.Server))
	if s.Lookups > 0 {
		out += " · " + plural(s.Lookups, "lookup")
	}
	if s.Followed > 0 {
		out += " · " + plural(s.Followed, "linked record")
	}
	if s.Connections > 0 {
		out += " · " + plural(s.Connections, "connection")
	}
	if s.Protocol != "" {
		out += " · " + Safe(s.Protocol)
	}
	if s.P50 > 0 {
		out += " · " + duration(s.P50)
	}
	return out
}

// shortURL omits the obvious parts of a URL.
func shortURL(server string) string {
	return strings.TrimSuffix(strings.TrimPrefix(server, "https://"), "/")
}

func plural(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return grouped(n) + " " + what + "s"
}

// grouped formats n with commas between thousands.
func grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	if n < 0 {
		return s
	}
	var parts []string
	for len(s) > 3 {
		parts = append(parts, s[len(s)-3:])
		s = s[:len(s)-3]
	}
	parts = append(parts, s)
	slices.Reverse(parts)
	return strings.Join(parts, ",")
}

// duration formats milliseconds for people: "91 ms", "4.2 s", "12 m 5 s", "3 h 10 m".
func duration(ms float64) string {
	switch s := int64(ms/1000 + .5); {
	case ms < 10:
		return strconv.FormatFloat(ms, 'f', 1, 64) + " ms"
	case ms < 999.5:
		return strconv.FormatFloat(ms, 'f', 0, 64) + " ms"
	case ms < 59_950:
		return strconv.FormatFloat(ms/1000, 'f', 1, 64) + " s"
	case s < 3600:
		return fmt.Sprintf("%d m %d s", s/60, s%60)
	default:
		return fmt.Sprintf("%s h %d m", grouped(s/3600), s%3600/60)
	}
}

func byteCount(n int64) string {
	const units = "kMGTPE"
	if n < 1000 {
		return strconv.FormatInt(n, 10) + " B"
	}
	f, i := float64(n)/1000, 0
	for f >= 999.95 && i < len(units)-1 {
		f /= 1000
		i++
	}
	return strconv.FormatFloat(f, 'f', 1, 64) + " " + units[i:i+1] + "B"
}
