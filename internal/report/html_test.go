package report

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/rdapq/rdapq/internal/measure"
)

func page(t *testing.T, r *measure.Report) (string, *html.Node) {
	t.Helper()
	var b bytes.Buffer
	if err := WriteHTML(&b, r); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	root, err := html.Parse(&b)
	if err != nil {
		t.Fatal(err)
	}
	return text, root
}

// TestPageIsSelfContained checks that a page loads no resources and runs no scripts.
func TestPageIsSelfContained(t *testing.T) {
	text, root := page(t, several(9))
	if strings.Contains(text, "url(") || strings.Contains(text, "@import") {
		t.Error("the style asks for something")
	}
	for n := range root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		switch n.Data {
		case "script", "link", "img", "iframe", "object", "use", "image", "font":
			t.Errorf("there is <%s>", n.Data)
		}
		for _, a := range n.Attr {
			if a.Key == "src" || a.Key == "href" || a.Key == "style" || strings.HasPrefix(a.Key, "on") {
				t.Errorf("<%s %s=%q>", n.Data, a.Key, a.Val)
			}
		}
	}
	for _, want := range []string{`<meta name="viewport"`, "prefers-color-scheme: dark", "@media print", `default-src 'none'`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s", want)
		}
	}
}

// TestPageIsSafe checks that text of servers and queries cannot become markup.
func TestPageIsSafe(t *testing.T) {
	const bad = `"><script>alert(1)</script></pre>` + "\u202e\x1b[2J"
	r := bench()
	r.Headline, r.Notes, r.RTT.Source = bad, []string{bad}, bad
	r.Comparisons[0].Significant, r.Comparisons[0].Why = false, bad
	r.Skipped[0] = measure.Skipped{Mode: bad, Reason: bad}
	for i := range r.Modes {
		m := &r.Modes[i]
		m.Mode, m.About, m.Protocol, m.TLS = bad, bad, bad, bad
		for k := range m.Waterfall {
			m.Waterfall[k].Query = bad
		}
		for k := range m.Servers {
			m.Servers[k].Server, m.Servers[k].Protocol, m.Servers[k].Limit = bad, bad, bad
			m.Servers[k].Verdicts = map[string]int64{"failed": 1}
		}
	}
	text, root := page(t, r)
	if strings.Contains(text, "<script") || strings.ContainsAny(text, "\x1b\u202e") {
		t.Error("it got through")
	}
	for n := range root.Descendants() {
		if n.Data == "script" && n.Type == html.ElementNode {
			t.Error("there is a script")
		}
	}
}

func TestPageOfNothing(t *testing.T) {
	text, _ := page(t, &measure.Report{Kind: measure.KindBatch, Headline: "0 lookups"})
	if strings.Contains(text, "<svg") || !strings.Contains(text, "0 lookups") || strings.Contains(text, "NaN") {
		t.Errorf("%s", text[strings.Index(text, "<body>"):])
	}
	r := bench()
	for i := range r.Modes {
		r.Modes[i] = measure.Result{Mode: r.Modes[i].Mode} // no lookup got a response
	}
	if text, _ := page(t, r); strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
		t.Error("it divides by nothing")
	}
}

// TestPageOfManyServers writes a batch with a thousand servers.
func TestPageOfManyServers(t *testing.T) {
	r := bench()
	r.Modes = r.Modes[:1]
	one := r.Modes[0].Servers[0]
	for range 2 * maxServers {
		r.Modes[0].Servers = append(r.Modes[0].Servers, one)
	}
	text, root := page(t, r)
	rows := 0
	for n := range root.Descendants() {
		for _, a := range n.Attr {
			if a.Key == "data-s" && strings.HasSuffix(a.Val, ".server") {
				rows++
			}
		}
	}
	if rows != maxServers || !strings.Contains(text, "Servers with fewer lookups") {
		t.Errorf("%d servers are shown, want %d and a note about the others", rows, maxServers)
	}
}

func TestPageErrors(t *testing.T) {
	if err := WriteHTML(broken{}, bench()); !errors.Is(err, errBroken) {
		t.Error(err)
	}
	r := bench()
	r.RTT.MS = math.NaN()
	if err := WriteHTML(new(bytes.Buffer), r); err == nil {
		t.Error("a value that is not a number was written")
	}
}

// TestAxis checks that an axis ends with the data and has few round ticks.
func TestAxis(t *testing.T) {
	for _, end := range []float64{.03, 1, 3.3, 9.99, 10, 47, 100, 276.3, 999, 1000, 12_345, 5e6} {
		a := newAxis(end)
		if a.end != end || len(a.ticks) < 3 || len(a.ticks) > maxTicks || a.ticks[len(a.ticks)-1] > end || a.ticks[0] != 0 {
			t.Errorf("%g: %+v", end, a)
		}
		step := a.ticks[1]
		mantissa := step / math.Pow(10, math.Floor(math.Log10(step)+1e-9))
		if r := math.Round(mantissa*1e6) / 1e6; r != 1 && r != 2 && r != 5 {
			t.Errorf("%g: steps of %g", end, step)
		}
	}
	if a := newAxis(0); a.end <= 0 || len(a.ticks) != 1 {
		t.Errorf("%+v", a)
	}
}
