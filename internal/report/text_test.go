package report

import (
	"errors"
	"strings"
	"testing"

	"github.com/rdapq/rdapq/internal/measure"
	"github.com/rdapq/rdapq/internal/render"
)

func text(t *testing.T, r *measure.Report, width int) string {
	t.Helper()
	var b strings.Builder
	if err := WriteText(&b, r, width); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestText(t *testing.T) {
	golden(t, "bench.txt", text(t, bench(), 80))
	golden(t, "bench-5.txt", text(t, several(5), 80))
}

// TestTextFits checks that no line exceeds the terminal and that all modes are present.
func TestTextFits(t *testing.T) {
	for n := range 10 {
		for _, width := range []int{0, 60, 80, 200} {
			r := several(n)
			out := text(t, r, width)
			for line := range strings.Lines(out) {
				if got := render.Columns(strings.TrimSuffix(line, "\n")); got > max(width, minWidth) && width > 0 || got > 200 {
					t.Errorf("%d modes, %d columns: %d in %q", n, width, got, line)
				}
			}
			for _, m := range r.Modes {
				if !strings.Contains(out, " "+m.Mode) {
					t.Errorf("%d modes, %d columns: no %s", n, width, m.Mode)
				}
			}
		}
	}
}

func TestMarkdown(t *testing.T) {
	var b strings.Builder
	if err := WriteMarkdown(&b, several(3)); err != nil {
		t.Fatal(err)
	}
	golden(t, "bench.md", b.String())
}

type broken struct{}

var errBroken = errors.New("broken")

func (broken) Write([]byte) (int, error) { return 0, errBroken }

func TestErrorsOfTheWriter(t *testing.T) {
	if err := WriteText(broken{}, bench(), 80); !errors.Is(err, errBroken) {
		t.Error(err)
	}
	if err := WriteMarkdown(broken{}, bench()); !errors.Is(err, errBroken) {
		t.Error(err)
	}
}

func TestNumbers(t *testing.T) {
	for _, tt := range []struct {
		unit unit
		f    float64
		want string
	}{
		{millis, 0, "0 ms"},
		{millis, .04, "0.0 ms"},
		{millis, 9.94, "9.9 ms"},
		{millis, 9.96, "10 ms"},
		{millis, 92.3, "92 ms"},
		{millis, 999.4, "999 ms"},
		{millis, 999.6, "1.00 s"},
		{millis, 1101.5, "1.10 s"},
		{millis, 59_994, "59.99 s"},
		{millis, 60_000, "1 m 0 s"},
		{byteSize, 157_100, "157.1 kB"},
		{decimal, 1.1, "1.10"},
		{rate, 36.31, "36.3"},
		{rate, 774.2, "774"},
		{rate, 1945.3, "1,945"},
		{count, 1234, "1,234"},
		{count, 2.5, "2.5"},
	} {
		if got := tt.unit.write(tt.f); got != tt.want {
			t.Errorf("%g: %q, want %q", tt.f, got, tt.want)
		}
	}
}
