//go:build unix

package interop_test

import (
	"bytes"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// looks lists the viewports and media for reports.
var looks = []look{
	{width: 1280},
	{width: 1280, dark: true},
	{width: 390},
	{width: 390, dark: true},
	{width: 718, print: true}, // A4 at 96 dpi, without margins
}

// cut is JavaScript that returns the clipped content of a page. Clipped content is text and
// bars outside their chart, overlapping text, and elements wider than the window or their box.
const cut = `(() => {
  const problems = [];
  const say = (what, e) => problems.push(what + ': ' + (e.textContent || e.outerHTML).trim().slice(0, 80));
  const root = document.documentElement;
  if (root.scrollWidth > window.innerWidth) problems.push('the page is ' + root.scrollWidth + ' wide, the window ' + window.innerWidth);
  for (const svg of document.querySelectorAll('svg')) {
    const box = svg.getBoundingClientRect();
    if (box.width < 200) say('a chart of ' + box.width, svg);
    const texts = [...svg.querySelectorAll('text')];
    for (const e of [...texts, ...svg.querySelectorAll('rect')]) {
      const r = e.getBoundingClientRect();
      if (r.left < box.left - 0.5 || r.right > box.right + 0.5 || r.top < box.top - 0.5 || r.bottom > box.bottom + 0.5) say('outside of its chart', e);
    }
    const boxes = texts.map(e => [e, e.getBoundingClientRect()]);
    boxes.forEach(([e, a], i) => boxes.slice(i + 1).forEach(([f, b]) => {
      if (a.left < b.right && b.left < a.right && a.top + 2 < b.bottom && b.top + 2 < a.bottom) say('on one another: ' + f.textContent, e);
    }));
    const bars = [...svg.querySelectorAll('rect, line.range')].map(e => e.getBoundingClientRect().right);
    svg.dataset.reach = Math.max(0, ...bars) / box.right;
  }
  for (const figures of ['figure.wall', 'figure.waterfall', 'figure.distribution']) {
    const reach = [...document.querySelectorAll(figures + ' svg')].map(e => Number(e.dataset.reach));
    if (reach.length && Math.max(...reach) < 0.9) problems.push(figures + ': the axis is longer than the data, which reach ' + Math.max(...reach));
  }
  for (const e of document.querySelectorAll('h1, h2, h3, p, li, dt, dd, th, td, figcaption, summary')) {
    if (e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).display !== 'inline') say('wider than its box', e);
  }
  return problems;
})()`

// TestReport opens reports in a browser and checks that nothing is clipped. It uses the width
// of a desktop and a phone, and light, dark and print mode. RDAPQ_SCREENSHOTS names a directory
// for screenshots.
func TestReport(t *testing.T) {
	need(t, "chromium")
	rdapq := buildCommand(t)
	dir := t.TempDir()
	home := t.TempDir()
	for name, args := range map[string][]string{
		"bench": {"bench", "--demo-rtt", "60ms", "-n", "20"},
		"modes": {"bench", "--demo-rtt", "30ms", "-n", "8", "--modes", "reuse,no-reuse,no-reuse+h2+tls1.2,resume+tls1.2,h1,h3,no-reuse+0rtt,fast-open"},
		"batch": {"--demo", "-q", "-f", "../testdata/domains.txt", "-o", filepath.Join(dir, "rows")},
		"none":  {"--demo", "-q", "-f", os.DevNull},
	} {
		t.Run(name, func(t *testing.T) {
			page := filepath.Join(dir, name+".html")
			cmd := exec.Command(rdapq, append(args, "--report", page)...)
			cmd.Env = append(os.Environ(), "HOME="+home, "XDG_STATE_HOME="+home, "XDG_CACHE_HOME="+home, "XDG_CONFIG_HOME="+home)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			b := startBrowser(t)
			ground := make(map[bool]any)
			for _, l := range looks {
				b.open("file://"+page, l)
				for _, problem := range b.value(cut).([]any) {
					t.Errorf("%s: %v", l, problem)
				}
				ground[l.dark] = b.value(`getComputedStyle(document.body).backgroundColor`)
				picture := b.picture()
				if c, err := png.DecodeConfig(bytes.NewReader(picture)); err != nil || c.Width != l.width {
					t.Errorf("%s: screenshot %d wide, %v", l, c.Width, err)
				}
				if keep := os.Getenv("RDAPQ_SCREENSHOTS"); keep != "" {
					if err := os.WriteFile(filepath.Join(keep, name+"-"+l.String()+".png"), picture, 0o666); err != nil {
						t.Error(err)
					}
				}
			}
			if ground[false] == ground[true] {
				t.Errorf("light and dark mode are the same: %v", ground)
			}
		})
	}
}
