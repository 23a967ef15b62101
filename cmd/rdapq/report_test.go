package main

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// A page is a parsed HTML report.
type page struct {
	t       *testing.T
	root    *html.Node
	data    any // JSON that the page embeds
	numbers int // number of paths of the data that were compared
	texts   int
}

func readPage(t *testing.T, file string) *page {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	root, err := html.Parse(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	p := &page{t: t, root: root}
	for n := range root.Descendants() {
		if attr(n, "id") == "data" {
			if err := decodeJSON([]byte(content(n)), &p.data); err != nil {
				t.Fatal(err)
			}
		}
	}
	if p.data == nil {
		t.Fatal("the page has no data")
	}
	return p
}

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func content(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return b.String()
}

// fixed matches texts with digits that are not data.
var fixed = regexp.MustCompile(`95 %|99 %|\bp50\b|\bp95\b|\bp99\b|0-RTT`)

// check compares every number and text of the page with the data.
func (p *page) check() {
	skip := make(map[*html.Node]bool)
	for n := range p.root.Descendants() {
		if n.Parent != nil && skip[n.Parent] {
			skip[n] = true
			continue
		}
		if n.Type == html.TextNode {
			if rest := fixed.ReplaceAllString(n.Data, ""); strings.ContainsAny(rest, "0123456789") {
				p.t.Errorf("element %q has no source path", n.Data)
			}
			continue
		}
		// a <title> is the title of the page, or a label in SVG
		skip[n] = n.Data == "style" || n.Data == "pre" || n.Data == "title"
		for _, a := range n.Attr {
			switch a.Key {
			case "data-v":
				if n.Data == "rect" {
					p.value(a.Val) // TestChartsAreToScale checks these attributes
					continue
				}
				p.same(a.Val, content(n), p.value(a.Val))
				skip[n] = true
			case "data-s":
				p.text(a.Val, content(n))
				skip[n] = true
			case "data-sum":
				sum := 0.0
				for _, step := range []string{"queue", "dns", "tcp", "tls", "first_byte", "transfer"} {
					sum += p.value(a.Val + "." + step)
				}
				p.same(a.Val, content(n), sum)
				skip[n] = true
			case "data-tick":
				f, _ := strconv.ParseFloat(a.Val, 64)
				p.same("tick", content(n), f)
				skip[n] = true
			}
		}
	}
}

// value returns a number of the data.
func (p *page) value(path string) float64 {
	p.t.Helper()
	text, there := follow(p.data, path)
	f, err := strconv.ParseFloat(text, 64)
	if !there || err != nil {
		p.t.Errorf("the data has no number %s: %q", path, text)
	}
	return f
}

func (p *page) text(path, shown string) {
	p.t.Helper()
	want, there := follow(p.data, path)
	short, cut := strings.CutSuffix(shown, "…")
	if p.texts++; !there || shown != want && (!cut || !strings.HasPrefix(want, short)) {
		p.t.Errorf("%s is %q in the data, %q on the page", path, want, shown)
	}
}

// units maps the unit after a number to its value.
var units = map[string]float64{
	"": 1, "ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9,
}

// same compares a displayed number with the data, at the displayed precision.
func (p *page) same(path, shown string, want float64) {
	p.t.Helper()
	p.numbers++
	got, exact := 0.0, 0.0
	words := strings.Fields(strings.ReplaceAll(shown, ",", ""))
	for i := 0; i < len(words); i += 2 {
		unit := ""
		if i+1 < len(words) {
			unit = words[i+1]
		}
		f, err := strconv.ParseFloat(words[i], 64)
		factor, known := units[unit]
		if err != nil || !known {
			p.t.Errorf("%s: what is %q?", path, shown)
			return
		}
		_, fraction, _ := strings.Cut(words[i], ".")
		got += f * factor
		exact = factor * math.Pow(10, -float64(len(fraction))) / 2
	}
	if len(words) == 0 || math.Abs(got-want) > exact*1.0001+1e-9 {
		p.t.Errorf("%s is %v in the data, %q on the page", path, want, shown)
	}
}

// A page shows exactly the numbers that --json prints.
func TestReportMatchesJSON(t *testing.T) {
	atHome(t)
	file := filepath.Join(t.TempDir(), "r.html")
	var out, errs bytes.Buffer
	a := &app{stdin: strings.NewReader(""), stdout: &out, stderr: &errs}
	cmd := newCommand(a)
	cmd.SetArgs([]string{"bench", "--json", "--report", file, "--demo-rtt", "5ms", "-n", "14", "--modes", "reuse,no-reuse,h1,resume+tls1.2,h3,0rtt,fast-open"})
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err, errs.String())
	}
	p := readPage(t, file)
	var printed any
	if err := decodeJSON(out.Bytes(), &printed); err != nil {
		t.Fatal(err)
	}
	if same, other := encoded(t, p.data), encoded(t, printed); same != other {
		t.Errorf("the page has %s, --json printed %s", same, other)
	}
	p.check()
	if p.numbers < 300 || p.texts < 80 {
		t.Errorf("only %d numbers and %d texts were found", p.numbers, p.texts)
	}
}

func TestBatchReport(t *testing.T) {
	file := filepath.Join(t.TempDir(), "r.html")
	stats := filepath.Join(t.TempDir(), "s.json")
	_, _, s := runDemo(t, "-f", filepath.Join("..", "..", "testdata", "domains.txt"), "--report", file, "--stats-file", stats)
	p := readPage(t, file)
	p.check()
	total, _ := s.demo.Counts()
	for path, want := range map[string]int64{
		"modes.0.connections.median": total.Connections, "modes.0.full_handshakes.median": total.FullHandshakes,
		"modes.0.requests.median": total.Requests, "settings.lookups": 581,
	} {
		unsure := int64(0)
		if strings.Contains(path, "connections") || strings.Contains(path, "handshakes") {
			unsure = s.givenUp()
		}
		if got := p.value(path); got > float64(want) || got < float64(want-unsure) {
			t.Errorf("%s is %v, want %d", path, got, want)
		}
	}
	text, err := os.ReadFile(stats)
	var receipt any
	if err != nil || decodeJSON(text, &receipt) != nil {
		t.Fatal("no receipt", err)
	}
	for here, there := range map[string]string{
		"modes.0.servers.0.lookups": "per_server.0.lookups", "modes.0.servers.2.verdicts": "per_server.2.verdicts",
		"modes.0.bytes_in.median": "bytes_in", "modes.0.lookup_ms.p95": "ms.p95",
	} {
		x, found := follow(p.data, here)
		y, too := follow(receipt, there)
		if !found || !too {
			t.Errorf("%s is %q, %s is %q", here, x, there, y)
		}
		fx, errX := strconv.ParseFloat(x, 64)
		fy, errY := strconv.ParseFloat(y, 64)
		// The quantiles of the receipt are rounded within 1%, but those of the report are
		// exact.
		if x != y && (errX != nil || errY != nil || math.Abs(fx-fy) > max(fx*.011, .06)) {
			t.Errorf("%s is %s, the receipt has %s", here, x, y)
		}
	}
	if p.numbers < 80 {
		t.Errorf("only %d numbers were found", p.numbers)
	}
}

// The length of a bar is proportional to its number, with one scale for all charts of a
// kind.
func TestChartsAreToScale(t *testing.T) {
	file := filepath.Join(t.TempDir(), "r.html")
	runBench(t, "--report", file, "--demo-rtt", "5ms", "-n", "8", "--modes", "reuse,no-reuse,h3")
	p := readPage(t, file)
	scales := make(map[string][]float64) // scales by kind of chart: number per percent
	for n := range p.root.Descendants() {
		if n.Type != html.ElementNode || n.Data != "rect" {
			continue
		}
		kind := ""
		for up := n; up != nil; up = up.Parent {
			if up.Data == "figure" {
				kind = attr(up, "class")
			}
		}
		length := strings.TrimSuffix(attr(n, "width"), "%")
		if kind == "distribution" {
			length = attr(n, "height")
		}
		f, err := strconv.ParseFloat(length, 64)
		if v := p.value(attr(n, "data-v")); err != nil || f <= 0 || f > 100 {
			t.Errorf("%s: bar length %q for %v", kind, length, v)
		} else if f > .5 { // short bars are rounded
			scales[kind] = append(scales[kind], v/f)
		}
	}
	for _, kind := range []string{"wall", "waterfall", "distribution"} {
		s := scales[kind]
		if len(s) < 3 || slices.Max(s)/slices.Min(s) > 1.02 {
			t.Errorf("%s: %d bars, from %v to %v per percent", kind, len(s), s[:min(len(s), 3)], s)
		}
	}
}

func encoded(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
