package render

import (
	"cmp"
	"fmt"
	"io"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/timing"
)

// appendTrace appends the timings of a lookup with the names and meanings of curl's
// --write-out. Times are seconds since the lookup started, and 0 for the steps of an existing
// connection. time_redirect covers redirects and failed attempts before the last request.
// Unlike curl's, num_retries includes transparent retries, and connection is the connection's
// number.
func appendTrace(dst []byte, r *client.Result) []byte {
	t := &r.Conn
	s := timing.Of(t)
	before := previousRequests(r)
	o := object{dst: append(dst, '{')}
	seconds := func(name string, d time.Duration) {
		o.key(name)
		o.dst = strconv.AppendFloat(o.dst, d.Seconds(), 'f', 6, 64)
	}
	number := func(name string, n int64) {
		o.key(name)
		o.dst = appendInt(o.dst, n)
	}
	number("connection", t.ConnID)
	connects := int64(1)
	if t.Reused {
		connects = 0
	}
	number("num_connects", connects)
	number("num_retries", int64(max(r.Attempts-1, 0)+t.Retries))
	o.str("http_version", httpVersion(t.Protocol))
	if at, err := netip.ParseAddrPort(t.RemoteAddr); err == nil {
		o.str("remote_ip", at.Addr().String())
		o.integer("remote_port", int64(at.Port()))
	}
	number("size_download", t.BytesIn)
	resolved := before + s.Queue + s.DNS
	connected := resolved + s.TCP
	secured := connected + s.TLS
	seconds("time_queue", s.Queue)
	seconds("time_namelookup", resolved)
	switch {
	case t.Reused:
		seconds("time_connect", 0)
		seconds("time_appconnect", 0)
	case t.Protocol == "h3": // one handshake covers both
		seconds("time_connect", secured)
		seconds("time_appconnect", secured)
	case t.TLS == 0:
		seconds("time_connect", connected)
		seconds("time_appconnect", 0)
	default:
		seconds("time_connect", connected)
		seconds("time_appconnect", secured)
	}
	seconds("time_pretransfer", secured)
	seconds("time_starttransfer", secured+s.FirstByte)
	seconds("time_redirect", before)
	seconds("time_total", before+s.Total())
	return append(o.dst, '}')
}

// previousRequests returns the duration of the requests before the last one.
func previousRequests(r *client.Result) time.Duration {
	if r.Attempts < 2 && (r.FinalURL == "" || r.FinalURL == r.URL) {
		return 0
	}
	return max(r.Elapsed-r.Conn.Total, 0)
}

// httpVersion returns "1.1", "2" or "3", as curl does.
func httpVersion(protocol string) string {
	return strings.TrimPrefix(strings.TrimPrefix(protocol, "http/"), "h")
}

// maxTraces limits the lookups that Traces shows.
const maxTraces = 40

// Traces collects the timings of lookups for a waterfall. It stores the timings of the first
// lookups and counts the rest. The zero value is ready for use by one goroutine at a time.
type Traces struct {
	lookups []tracedLookup
	more    int64
}

type tracedLookup struct {
	label   string
	details []string
	start   time.Time
	steps   timing.Steps
}

// Add adds a result and its linked results.
func (t *Traces) Add(r *client.Result) { t.add(r, r.Query.String()) }

func (t *Traces) add(r *client.Result, label string) {
	switch {
	case len(t.lookups) == maxTraces:
		t.more++
	case r.Cached && r.Conn.ConnID == 0:
		t.lookups = append(t.lookups, tracedLookup{label: label, details: []string{"from cache"}, start: r.Time})
	case r.Conn.ConnID == 0:
		detail := "no connection"
		if e := ErrorOf(r); e != nil {
			detail += ": " + string(e.Code)
		}
		t.lookups = append(t.lookups, tracedLookup{label, []string{detail}, r.Time.Add(-r.Elapsed), timing.Steps{Queue: r.Elapsed}})
	default:
		t.lookups = append(t.lookups, tracedLookup{label, traceDetails(r), r.Time.Add(-r.Conn.Total), timing.Of(&r.Conn)})
	}
	if g := r.Registrar; g != nil {
		t.add(g, " at "+hostOf(g.Server))
	}
	for _, g := range r.Related {
		t.add(g, " "+g.Query.String())
	}
}

// hostOf returns the host of a URL, or s if the URL has no host.
func hostOf(s string) string {
	if u, err := url.Parse(s); err == nil && u.Host != "" {
		return u.Host
	}
	return s
}

// traceDetails returns the details that the chart does not show.
func traceDetails(r *client.Result) []string {
	t, s := &r.Conn, timing.Of(&r.Conn)
	how := "new"
	switch {
	case t.Reused:
		how = "kept"
	case t.EarlyData:
		how = "0-RTT"
	case t.Resumed:
		how = "resumed"
	}
	parts := []string{fmt.Sprintf("connection %d, %s, %s", t.ConnID, how, protocolName(t.Protocol))}
	for _, step := range s.Named() {
		if step.Took*200 >= s.Total() { // omit negligible steps
			parts = append(parts, step.Name+" "+duration(inMillis(step.Took)))
		}
	}
	if before := previousRequests(r); before > 0 {
		parts = append(parts, "previous requests "+duration(inMillis(before)))
	}
	return parts
}

// Write writes the waterfall for a terminal of the given width; 0 means 80 columns. Without
// lookups, it writes nothing. It returns the error of w.
func (t *Traces) Write(w io.Writer, width int) error {
	if len(t.lookups) == 0 {
		return nil
	}
	if width <= 0 {
		width = 80
	}
	start := slices.MinFunc(t.lookups, func(a, b tracedLookup) int { return a.start.Compare(b.start) }).start
	bars := make([]Bar, len(t.lookups))
	for i, l := range t.lookups {
		s := l.steps
		bars[i] = Bar{
			Label: cmp.Or(l.label, "help"), Details: l.details, Start: inMillis(l.start.Sub(start)),
			Queue: inMillis(s.Queue), DNS: inMillis(s.DNS), TCP: inMillis(s.TCP), TLS: inMillis(s.TLS),
			FirstByte: inMillis(s.FirstByte), Transfer: inMillis(s.Transfer),
		}
	}
	out := Waterfall(bars, width)
	if t.more > 0 {
		out += "and " + plural(t.more, "more lookup") + "\n"
	}
	_, err := io.WriteString(w, out)
	return err
}
