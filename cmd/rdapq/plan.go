package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/render"
)

// plan prints the queries of a run. It does not send them.
func (a *app) plan(ctx context.Context, s *session, src *source) error {
	begin := func(int64) (bool, error) { return true, nil }
	p, err := s.client.Plan(ctx, src.queries(begin))
	if err != nil {
		return err
	}
	if p.Invalid > 0 || len(p.Unsupported) > 0 {
		a.exit = exitSomeFail // exit code that the run would have
	}
	write := writePlan
	if a.opts.format == render.FormatJSON || a.opts.format == render.FormatNDJSON {
		write = writePlanJSON
	}
	if err := write(a.stdout, p, src.dropped.Load()); err != nil {
		return outputError(err)
	}
	a.warnTrailing(src)
	if !s.follows { // with links, keys may match hosts that a plan does not include
		a.warnUnmatched()
	}
	return nil
}

// A planReport is a plan as JSON.
type planReport struct {
	Lines       int64        `json:"lines"`
	Queries     int64        `json:"queries"`
	Duplicates  int64        `json:"duplicates"`
	Approximate bool         `json:"approximate,omitempty"` // there may be more duplicates
	Dropped     int64        `json:"dropped,omitempty"`     // number of lines that --dedupe dropped
	Seconds     float64      `json:"seconds"`
	Assumed     planAssumed  `json:"assumed"`
	Servers     []planServer `json:"servers"`
	Unsupported []planZone   `json:"unsupported"`
	Invalid     int64        `json:"invalid"`
	Errors      []planError  `json:"errors"`
}

// planAssumed holds the assumptions behind an estimate.
type planAssumed struct {
	MS       float64 `json:"ms"` // response time in milliseconds
	Protocol string  `json:"protocol"`
}

type planServer struct {
	Server  string  `json:"server"`
	Lines   int64   `json:"lines"`
	Queries int64   `json:"queries"`
	Rate    string  `json:"rate,omitempty"`
	MS      float64 `json:"ms,omitzero"` // response time in milliseconds, if known
	Seconds float64 `json:"seconds"`
}

type planZone struct {
	Zone  string `json:"zone"`
	Lines int64  `json:"lines"`
}

type planError struct {
	Line    int64  `json:"line"`
	Query   string `json:"query,omitempty"`
	Message string `json:"message"`
}

func milliseconds(d time.Duration) float64 { return math.Round(d.Seconds()*10_000) / 10 }

func seconds(d time.Duration) float64 { return math.Round(d.Seconds()*10) / 10 }

func writePlanJSON(w io.Writer, p *client.Plan, dropped int64) error {
	r := planReport{
		Lines: p.Lines, Queries: p.Queries, Duplicates: p.Duplicates, Approximate: p.Approximate, Dropped: dropped,
		Seconds: seconds(p.Time), Invalid: p.Invalid, Assumed: planAssumed{milliseconds(p.Latency), "h2"},
		Servers: []planServer{}, Unsupported: []planZone{}, Errors: []planError{},
	}
	for _, s := range p.Servers {
		r.Servers = append(r.Servers, planServer{s.Server, s.Lines, s.Queries, s.Rate.String(), milliseconds(s.Latency), seconds(s.Time)})
	}
	for _, z := range p.Unsupported {
		r.Unsupported = append(r.Unsupported, planZone{z.Zone, z.Lines})
	}
	for _, e := range p.Errors {
		r.Errors = append(r.Errors, planError{e.Line, e.Text, planMessage(e.Failure)})
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(r)
}

// maxPlanLines limits the servers, zones and errors listed in text.
const maxPlanLines = 20

func writePlan(out io.Writer, p *client.Plan, dropped int64) error {
	w := new(strings.Builder)
	about := ""
	if p.Approximate {
		about = "at least "
	}
	fmt.Fprintf(w, "%s, %s to send to %s", render.Plural(p.Lines, "line"), plurals(p.Queries, "query", "queries"), render.Plural(int64(len(p.Servers)), "server"))
	if p.Time > 0 {
		fmt.Fprintf(w, ", in %s", planTime(p.Time))
	}
	fmt.Fprintln(w)
	if p.Duplicates > 0 {
		each := "each is sent"
		if p.Duplicates == 1 {
			each = "it is sent"
		}
		fmt.Fprintf(w, "%s%s: %s again; --dedupe skips them\n", about, plurals(p.Duplicates, "duplicate", "duplicates"), each)
	}
	if dropped > 0 {
		fmt.Fprintf(w, "%s skipped\n", plurals(dropped, "repeated line", "repeated lines"))
	}
	if p.Queries > 0 && p.Latency > 0 {
		fmt.Fprintln(w, assumptions(p))
	}
	width := 0
	for _, s := range p.Servers[:min(len(p.Servers), maxPlanLines)] {
		width = max(width, render.Columns(render.Safe(s.Server)))
	}
	section(w, "Servers", p.Servers, func(s client.PlanServer) string {
		name := render.Safe(s.Server)
		line := name + strings.Repeat(" ", max(width-render.Columns(name), 0)) + fmt.Sprintf("  %s · %s", render.Plural(s.Lines, "line"), planTime(s.Time))
		if !s.Rate.IsZero() {
			line += " · limit " + render.Limit(s.Rate)
		}
		return line
	})
	section(w, "No server is known for", p.Unsupported, func(z client.PlanZone) string {
		return fmt.Sprintf("%s  %s", render.Safe(z.Zone), render.Plural(z.Lines, "line"))
	})
	title := "Invalid"
	if p.Invalid > 0 {
		title += " (" + render.Plural(p.Invalid, "line") + ")"
	}
	section(w, title, p.Errors, func(e client.PlanError) string {
		return fmt.Sprintf("line %d: %s", e.Line, render.Safe(planMessage(e.Failure)))
	})
	_, err := io.WriteString(out, w.String())
	return err
}

// assumptions describes the assumptions behind the estimated duration.
func assumptions(p *client.Plan) string {
	known := 0
	for _, s := range p.Servers {
		if s.Latency > 0 {
			known++
		}
	}
	assumed := render.Span(p.Latency) + " per response over HTTP/2, no retries, no linked records"
	switch known {
	case 0:
		return "assumed, since it is not known: " + assumed
	case len(p.Servers):
		return "response times are those of earlier runs; assumed: no retries, no linked records"
	default:
		return fmt.Sprintf("response times of %s are those of earlier runs; assumed for the others: %s", render.Plural(int64(known), "server"), assumed)
	}
}

// planTime formats an estimated duration in whole seconds.
func planTime(d time.Duration) string {
	if d < time.Second {
		return "less than 1 s"
	}
	return "about " + render.Span(d.Round(time.Second))
}

// section writes a heading and a line per item. It writes nothing for an empty list.
func section[T any](w *strings.Builder, title string, list []T, line func(T) string) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s:\n", title)
	for i, item := range list {
		if i == maxPlanLines && len(list) > maxPlanLines+1 {
			fmt.Fprintf(w, "  and %s more\n", render.Grouped(int64(len(list)-i)))
			return
		}
		fmt.Fprintf(w, "  %s\n", line(item))
	}
}

func plurals(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return render.Grouped(n) + " " + many
}

// planMessage returns the error message that the row of an invalid input would have.
func planMessage(e *client.Error) string {
	if e == nil {
		return ""
	}
	r := client.Result{Failure: e}
	classifyInputError(&r)
	return r.Failure.Message
}
