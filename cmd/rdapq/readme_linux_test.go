package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rdapq/rdapq/internal/render"
)

// What differs from run to run: ages, how long something took, which of several
// lookups opened the connection, and where the line about times is broken.
var (
	passing = regexp.MustCompile(`\d+ (?:day|month|year)s? (?:ago|left)|\d[\d.]* m?s\b|· (?:new|reused) ·`)
	timing  = regexp.MustCompile(`(?s)\n  time  .*?\n  traffic`)
)

// passed is what stands for it.
func passed(text string) string {
	return passing.ReplaceAllString(timing.ReplaceAllString(text, "\n  time\n  traffic"), "SOMETHING")
}

// README shows what the command prints today, on a terminal of 80 columns. A line
// "..." stands for any lines.
func TestReadme(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(repository(), "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	shown := 0
	for block := range strings.SplitSeq(string(text), "```console\n") {
		block, _, _ = strings.Cut(block, "```")
		line, want, _ := strings.Cut(block, "\n")
		if first, _, more := strings.Cut(want, "\n$ "); more {
			want = first + "\n" // a second command is not run
		}
		line = strings.Replace(line, "go run ./cmd/rdapq", "rdapq", 1)
		args := strings.Fields(line)
		if len(args) < 3 || args[1] != "rdapq" || args[2] != "--demo" || want == "" {
			continue
		}
		shown++
		t.Run(strings.Join(args[2:], " "), func(t *testing.T) {
			p := newPseudo(t, 80)
			cmd, _ := command(t, append([]string{"--color", "never"}, args[2:]...)...)
			cmd.Dir = repository()
			cmd.Stdout, cmd.Stderr = p.tty, p.tty
			got := passed(p.run(t, cmd))
			if want := passed(want); !matches(got, want) {
				t.Errorf("README has\n%s\nand the command prints\n%s", want, got)
			}
		})
	}
	if shown < 7 {
		t.Errorf("README shows %d answers", shown)
	}
}

// matches reports whether text has the parts of a pattern in order: those between
// lines of dots. It begins with the first and ends with the last.
func matches(text, pattern string) bool {
	parts := strings.Split(pattern, "...\n")
	for i, part := range parts {
		at := strings.Index(text, part)
		if at < 0 || i == 0 && at > 0 {
			return false
		}
		text = text[at+len(part):]
	}
	return text == "" || parts[len(parts)-1] == ""
}

// What of a measurement depends on how steady the machine is: whether a difference
// can be claimed, and which steps are long enough to be seen.
var (
	claims = regexp.MustCompile(`reuse was [\d.]+ times faster than no-reuse: 38 handshakes avoided|no significant difference between [a-z-]+ and [a-z-]+: their ranges overlap|[a-z-]+ took [\d.]+ times the time of [a-z-]+; no significant difference: their ranges overlap|\brange\b`)
	legend = regexp.MustCompile(`▒ TCP|▓ TLS|█ first byte`)
)

var (
	numbers = regexp.MustCompile(`\d[\d.,–]*|[km]?s\b`)
	bars    = regexp.MustCompile(`[·○▒▓█─]{2,}|[▒▓█] `)
	names   = regexp.MustCompile(`[a-z]+(?:-[a-z]+)?\.(?:re|fr)`)
)

// shape is what of a measurement is the same each time: its words.
func shape(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	for _, of := range []*regexp.Regexp{claims, legend, bars, names, numbers} {
		text = of.ReplaceAllString(text, " ")
	}
	text = strings.NewReplacer("─ transfer", " ", "transfer", " ", "○ DNS", " ", "· queue", " ", "kB", " ", "·", " ").Replace(text)
	return strings.Join(strings.Fields(text), " ")
}

// README shows what bench and --trace print on a terminal of 80 columns, but for
// the numbers.
func TestReadmeMeasures(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(repository(), "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"rdapq bench", "rdapq --trace --demo -j 1 --format check courbu.re nic.re copacabana.re"} {
		_, block, there := strings.Cut(string(text), "$ "+line+"\n")
		want, _, _ := strings.Cut(block, "```")
		if !there {
			t.Errorf("README does not show %s", line)
			continue
		}
		for l := range strings.Lines(want) {
			if n := render.Columns(strings.TrimSuffix(l, "\n")); n > 80 {
				t.Errorf("%d columns: %s", n, l)
			}
		}
		p := newPseudo(t, 80)
		cmd, _ := command(t, append(strings.Fields(line)[1:], "--demo-rtt", "20ms")...)
		cmd.Stdout, cmd.Stderr = p.tty, p.tty
		got := erased.ReplaceAllString(p.run(t, cmd), "")
		if strings.HasPrefix(got, "no significant difference between ") { // the machine was at something else
			got, want = afterLine(got), afterLine(want)
		}
		if got, want := shape(got), shape(want); got != want {
			t.Errorf("README has\n%s\nand the command prints\n%s", want, got)
		}
	}
}

func afterLine(text string) string {
	_, rest, _ := strings.Cut(text, "\n")
	return rest
}

// erased is what bench shows while it measures, and takes off again.
var erased = regexp.MustCompile(`(?:\x1b\[\d*A)*rdapq: [^\n]*\x1b\[K\r?\n|\x1b\[\d*[AJK]`)
