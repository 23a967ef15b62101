package render

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/weburl"
	"github.com/rdapq/rdapq/limit"
	"github.com/rdapq/rdapq/pool"
)

// Limits of a Failures and of its output.
const (
	maxFailures      = 200
	maxShownFailures = 10
	maxSample        = 200
)

// Failures counts the errors of a batch by kind and server. Its memory does not grow with the
// number of errors. The zero value is ready for use by one goroutine at a time.
type Failures struct {
	groups map[failureKey]*failureGroup
	more   int64 // number of errors in further groups
}

// A failureKey identifies a group of errors by its code, and by the server or a cause that is
// independent of the server's address.
type failureKey struct{ code, server, cause string }

// keyOf returns the group of the error in r.
func keyOf(r *client.Result) failureKey {
	failed := ErrorOf(r)
	key := failureKey{code: string(failed.Code)}
	if errno, ok := errors.AsType[syscall.Errno](failed.Err); ok {
		key.cause = errno.Error()
	} else if e, ok := errors.AsType[*pool.Error](failed.Err); ok && e.Timeout() {
		key.cause = string(e.Step)
	} else {
		key.server = weburl.Redact(r.Server)
	}
	return key
}

type failureGroup struct {
	failureKey
	n      int64
	sample string
}

// Add counts r if the lookup failed.
func (f *Failures) Add(r *client.Result) {
	if r.Verdict.Answered() || ErrorOf(r) == nil {
		return
	}
	key := keyOf(r)
	if g := f.groups[key]; g != nil {
		g.n++
		return
	}
	if len(f.groups) >= maxFailures {
		f.more++
		return
	}
	if f.groups == nil {
		f.groups = make(map[failureKey]*failureGroup)
	}
	key.server = strings.Clone(key.server)
	sample := flat(ErrorOf(r).Error())
	if len(sample) > maxSample {
		sample = strings.ToValidUTF8(sample[:maxSample], "") + "…"
	}
	f.groups[key] = &failureGroup{key, 1, strings.Clone(sample)}
}

// A Summary is the outcome of a batch, for [WriteSummary].
type Summary struct {
	Report     Report
	Failures   *Failures
	Previous   map[string]int64 // verdict counts of lines that an earlier run completed
	Duplicates int64            // number of lines skipped as duplicates of earlier lines
	NotQueried int64            // number of lines read but not queried when the run was interrupted
}

// WriteSummary writes the outcome of a batch for people: the verdicts in total and per server
// (servers with failures first), and the errors by frequency. It returns the error of w.
func WriteSummary(w io.Writer, s Summary) error {
	var b strings.Builder
	r := s.Report
	fmt.Fprintf(&b, "%s: %s\n", Plural(r.Lookups, "line"), cmp.Or(Verdicts(r.Verdicts), "no queries"))
	var besides []string
	if n := total(s.Previous); n > 0 {
		besides = append(besides, Plural(n, "line")+" already done ("+Verdicts(s.Previous)+")")
	}
	if s.Duplicates > 0 {
		besides = append(besides, Plural(s.Duplicates, "duplicate line")+" skipped")
	}
	if s.NotQueried > 0 {
		besides = append(besides, Plural(s.NotQueried, "line")+" read but not queried")
	}
	if len(besides) > 0 {
		fmt.Fprintf(&b, "  besides   %s\n", strings.Join(besides, ", "))
	}
	if text := desyncLine(r); text != "" {
		fmt.Fprintf(&b, "  %-9s %s\n", "desync", text)
	}
	label := "servers"
	servers := slices.Clone(r.PerServer)
	slices.SortStableFunc(servers, func(a, b ServerReport) int {
		return cmp.Compare(unanswered(b.Verdicts), unanswered(a.Verdicts))
	})
	for i, one := range servers {
		if i == maxReceiptServers && len(servers) > maxReceiptServers+1 {
			fmt.Fprintf(&b, "  %-9s and %d more\n", label, len(servers)-i)
			break
		}
		fmt.Fprintf(&b, "  %-9s %s · %s\n", label, Safe(shortURL(one.Server)), cmp.Or(Verdicts(one.Verdicts), plural(one.Followed, "linked record")))
		label = ""
	}
	if r.WithoutRDAP > 0 {
		fmt.Fprintf(&b, "  warning   %s not found according to responses that are not RDAP (not_found_without_rdap)\n", Plural(r.WithoutRDAP, "line"))
	}
	s.Failures.write(&b)
	shown := 0
	for _, one := range r.PerServer {
		if !one.NoRDAP || one.Server == otherServers {
			continue
		}
		if shown++; shown > maxReceiptServers {
			break
		}
		fmt.Fprintf(&b, "hint: %s: no response of this server was RDAP; check the base URL\n", Safe(shortURL(one.Server)))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (f *Failures) write(b *strings.Builder) {
	if f == nil || len(f.groups) == 0 {
		return
	}
	// Two base URLs of one server fail with the same message.
	alike := make(map[[2]string]*failureGroup)
	for _, g := range f.groups {
		key := [2]string{g.code, g.sample}
		if other := alike[key]; other != nil {
			alike[key] = &failureGroup{failureKey{code: g.code, server: min(g.server, other.server)}, g.n + other.n, g.sample}
		} else {
			alike[key] = g
		}
	}
	groups := slices.SortedFunc(maps.Values(alike), func(a, b *failureGroup) int {
		return cmp.Or(cmp.Compare(b.n, a.n), cmp.Compare(a.code, b.code), cmp.Compare(a.server, b.server))
	})
	label, more := "errors", f.more
	for i, g := range groups {
		if i >= maxShownFailures {
			more += g.n
			continue
		}
		such := ""
		if g.n > 1 {
			such = ", for example"
		}
		fmt.Fprintf(b, "  %-9s %s × %s%s: %s\n", label, Grouped(g.n), Safe(g.code), such, Safe(g.sample))
		label = ""
	}
	if more > 0 {
		fmt.Fprintf(b, "  %-9s and %s more\n", label, Grouped(more))
	}
}

// unanswered returns the number of lines without a response to the query.
func unanswered(verdicts map[string]int64) (n int64) {
	for v, c := range verdicts {
		if !client.Verdict(v).Answered() {
			n += c
		}
	}
	return n
}

func total(counts map[string]int64) (n int64) {
	for _, c := range counts {
		n += c
	}
	return n
}

// Plural formats a count: "1 line", "1,234 lines".
func Plural(n int64, what string) string { return plural(n, what) }

// Grouped formats n with commas between thousands.
func Grouped(n int64) string { return grouped(n) }

// Span formats a duration for people: "4.2 s", "12 m 5 s", "3 h 10 m".
func Span(d time.Duration) string { return duration(inMillis(d)) }

// Headline summarizes a run in one sentence: "3 lookups over 1 connection: 1 full
// handshake, 2 avoided".
func Headline(r Report) string { return headline(r) }

// Limit formats a rate limit for people: "100 per 1 m", "20 per 2 s", rounded to the precision
// of a learned limit. It returns "" for the zero Rate.
func Limit(r limit.Rate) string {
	if r.IsZero() {
		return ""
	}
	per, unit := r.Per, time.Millisecond
	switch {
	case per >= 10*time.Second:
		unit = time.Second
	case per >= time.Second:
		unit = 100 * time.Millisecond
	}
	per = per.Round(unit)
	var text string
	switch {
	case per%time.Hour == 0:
		text = strconv.FormatInt(int64(per/time.Hour), 10) + " h"
	case per%time.Minute == 0:
		text = strconv.FormatInt(int64(per/time.Minute), 10) + " m"
	case per < time.Second:
		text = strconv.FormatInt(per.Milliseconds(), 10) + " ms"
	case per < time.Minute:
		text = strconv.FormatFloat(per.Seconds(), 'f', -1, 64) + " s"
	default:
		text = Span(per)
	}
	return grouped(int64(r.N)) + " per " + text
}

// Milliseconds is like Span for a number of milliseconds.
func Milliseconds(ms float64) string { return duration(ms) }

// ByteCount formats a number of bytes for people: "999 B", "12.3 kB".
func ByteCount(n int64) string { return byteCount(n) }

// Wrap breaks text at spaces into lines of at most width columns and makes them [Safe].
// It does not break longer words.
func Wrap(s string, width int) []string {
	var out []string
	for _, l := range wrap(text(s), width, 0) {
		var b strings.Builder
		for _, part := range l {
			b.WriteString(part.text)
		}
		out = append(out, b.String())
	}
	return out
}

// Columns returns the approximate width of s on a terminal.
func Columns(s string) int { return columns(s) }

// Shorten cuts s to a width and marks the place of the cut.
func Shorten(s string, width int) string {
	if columns(s) <= width {
		return s
	}
	return shorten(s, width)
}
