package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/internal/render"
)

// An example is a command that a document shows, with the output below the command.
type example struct {
	file    string
	line    int
	command string
	output  string
}

// documents returns the documents with examples, relative to the repository.
func documents(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(repository(), "docs", "*.md"))
	if err != nil || len(files) < 9 {
		t.Fatalf("documents %q: %v", files, err)
	}
	names := []string{"README.md", "CONTRIBUTING.md", filepath.Join("bench", "README.md")}
	for _, file := range files {
		names = append(names, filepath.Join("docs", filepath.Base(file)))
	}
	return names
}

// examplesIn returns the commands in the console blocks of a document: lines that begin
// with "$ ". A remark after "   #" is not part of the command.
func examplesIn(t *testing.T, file string) (list []example) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repository(), file))
	if err != nil {
		t.Fatal(err)
	}
	inside := false
	for n, line := range strings.Split(string(text), "\n") {
		switch command, is := strings.CutPrefix(line, "$ "); {
		case strings.HasPrefix(line, "```"):
			inside = line == "```console"
		case !inside:
		case is:
			list = append(list, example{file: file, line: n + 1, command: command})
		case len(list) == 0 || list[len(list)-1].file != file:
			t.Fatalf("%s:%d: output before any command", file, n+1)
		default:
			list[len(list)-1].output += line + "\n"
		}
	}
	return list
}

// Patterns of variable output: ages, times, which of several lookups opened the connection, and
// the position of the line break in the line of times.
var (
	variable = regexp.MustCompile(`\d+ (?:day|month|year)s? (?:ago|left)|\d[\d.]* m?s\b|· (?:new|reused) ·`)
	timing   = regexp.MustCompile(`(?s)\n  time  .*?\n  traffic`)
)

// steady replaces the parts of text that vary between runs.
func steady(text string) string {
	return variable.ReplaceAllString(timing.ReplaceAllString(text, "\n  time\n  traffic"), "SOMETHING")
}

// matches reports whether text consists of the parts of pattern, in order. Lines of dots
// separate these parts and match any text.
func matches(text, pattern string, normal func(string) string) bool {
	text = normal(text)
	parts := strings.Split(pattern, "...\n")
	for i, part := range parts {
		part = normal(part)
		at := strings.Index(text, part)
		if at < 0 || i == 0 && at > 0 {
			return false
		}
		text = text[at+len(part):]
	}
	return text == "" || parts[len(parts)-1] == ""
}

// Patterns of output that depends on how steady the machine is. It affects whether a mode is
// reported as faster, and which steps are long enough to be drawn.
var (
	claims = regexp.MustCompile(`reuse was [\d.]+ times faster than no-reuse: 38 handshakes avoided|no significant difference between [a-z-]+ and [a-z-]+: their ranges overlap|[a-z-]+ took [\d.]+ times the time of [a-z-]+; no significant difference: their ranges overlap|\brange\b`)
	legend = regexp.MustCompile(`▒ TCP|▓ TLS|█ first byte`)
)

var (
	numbers = regexp.MustCompile(`\d[\d.,–]*|[km]?s\b|–`) // "1–2 ms", "693 ms–1.06 s"
	bars    = regexp.MustCompile(`[·○▒▓█─]{2,}|[▒▓█] `)
	names   = regexp.MustCompile(`[a-z]+(?:-[a-z]+)?\.(?:re|fr)`)
)

// shape returns the words of a measurement, which do not vary between runs.
func shape(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	for _, of := range []*regexp.Regexp{claims, legend, bars, names, numbers} {
		text = of.ReplaceAllString(text, " ")
	}
	text = strings.NewReplacer("─ transfer", " ", "transfer", " ", "○ DNS", " ", "· queue", " ", "kB", " ", "·", " ").Replace(text)
	return strings.Join(strings.Fields(text), " ")
}

// erased matches the progress display of bench and the sequences that erase it.
var erased = regexp.MustCompile(`(?:\x1b\[\d*A)*rdapq: [^\n]*\x1b\[K\r?\n|\x1b\[\d*[AJK]`)

// ours matches the programs that an example may begin with. rdapq runs with the examples, and
// so do shell commands that write its input. Other programs are in otherCommands.
var ours = regexp.MustCompile(`^(?:[A-Z_]+=\S+ )*(rdapq|printf|echo) `)

// updateDocs makes TestDocs replace the output in the documents, at the demo's default
// round-trip time, except for parts shown as "...".
var updateDocs = flag.Bool("update", false, "rewrite the output that documents show")

// TestDocs runs every rdapq command of README and the documents, on a terminal of 80 columns,
// and compares the output if the document shows it. A line "..." in a document matches any
// number of lines. The commands of a document run in one directory and in order.
func TestDocs(t *testing.T) {
	t.Parallel()
	s := rdaptest.Start(t, rdaptest.Config{})
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, s.CA().PEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, file := range documents(t) {
		list := examplesIn(t, file)
		for _, e := range list {
			if e.output != "" {
				compared++
			}
		}
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.Symlink(filepath.Join(repository(), "testdata"), filepath.Join(dir, "testdata")); err != nil {
				t.Fatal(err)
			}
			env := []string{
				"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GORACE=" + quickRace,
				"RDAPQ_COLOR=never", "RDAPQ_NO_PROGRESS=true",
			}
			if !*updateDocs {
				env = append(env, "RDAPQ_DEMO_RTT=20ms")
			}
			for _, e := range list {
				line := strings.Replace(e.command, "go run ./cmd/rdapq", "rdapq", 1)
				if !ours.MatchString(line) {
					continue
				}
				checkExample(t, e, line, dir, env, s.URL(), ca)
			}
		})
	}
	if compared < 20 {
		t.Errorf("the documents show the output of %d commands", compared)
	}
}

// checkExample runs the command of an example. rdap.example is the server at url.
func checkExample(t *testing.T, e example, line, dir string, env []string, url, ca string) {
	t.Helper()
	if given := strings.ReplaceAll(line, "https://rdap.example/", url); given != line {
		line, env = given, append(slices.Clone(env), "RDAPQ_CA="+ca)
	}
	if e.output == "" && strings.Contains(line, "rdapq bench ") {
		line += " --runs 1"
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", line)
	cmd.Dir, cmd.Env = dir, env
	if e.output == "" {
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s:%d: %s: %v\n%s", e.file, e.line, e.command, err, out)
		}
		return
	}
	p := newPseudo(t, 80)
	cmd.Stdout, cmd.Stderr = p.tty, p.tty
	got := erased.ReplaceAllString(p.run(t, cmd), "")
	want, normal := e.output, steady
	if strings.Contains(line, "rdapq bench") || strings.Contains(line, "--trace") {
		normal = shape
		for l := range strings.Lines(e.output) {
			if n := render.Columns(strings.TrimSuffix(l, "\n")); n > 80 {
				t.Errorf("%s:%d: %d columns: %s", e.file, e.line, n, l)
			}
		}
		if strings.HasPrefix(got, "no significant difference between ") { // the machine was busy
			got, want = afterLine(got), afterLine(want)
		}
	}
	if !matches(got, want, normal) && *updateDocs && !strings.Contains(want, "...\n") {
		rewrite(t, e, got)
		return
	}
	if !matches(got, want, normal) {
		t.Errorf("%s:%d: $ %s\nthe document shows\n%s\nthe command prints\n%s", e.file, e.line, e.command, want, got)
	}
}

// rewrite replaces the output of an example.
func rewrite(t *testing.T, e example, output string) {
	t.Helper()
	file := filepath.Join(repository(), e.file)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	shown := "$ " + e.command + "\n"
	changed := strings.Replace(string(text), shown+e.output, shown+output, 1)
	if err := os.WriteFile(file, []byte(changed), 0o644); err != nil {
		t.Fatal(err)
	}
}

func afterLine(text string) string {
	_, rest, _ := strings.Cut(text, "\n")
	return rest
}

// measuredRow matches a row of the table in measuring.md. A row has a command, and its
// connections and full handshakes, or the range of each.
var measuredRow = regexp.MustCompile("(?m)^\\| `(rdapq [^`]*)` \\| (\\d+) \\| (\\d+)(?: to (\\d+))? \\|")

var receiptLine = regexp.MustCompile(`lookups over (\d+) connections?: (\d+) full`)

// The table in measuring.md has the counts that its commands print.
func TestDocsCounts(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(repository(), "docs", "measuring.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := measuredRow.FindAllStringSubmatch(string(text), -1)
	if len(rows) != 4 {
		t.Fatalf("%d rows", len(rows))
	}
	for _, row := range rows {
		cmd, stderr := command(t, strings.Fields(row[1])[1:]...)
		cmd.Dir, cmd.Env = repository(), append(cmd.Env, "RDAPQ_DEMO_RTT=20ms")
		if err := cmd.Run(); err != nil {
			t.Errorf("%s: %v", row[1], err)
			continue
		}
		counts := receiptLine.FindStringSubmatch(stderr.String())
		if counts == nil {
			t.Errorf("%s: no receipt in %s", row[1], stderr)
			continue
		}
		least, greatest := row[3], row[4]
		if greatest == "" {
			greatest = least
		}
		if counts[1] != row[2] || number(t, counts[2]) < number(t, least) || number(t, counts[2]) > number(t, greatest) {
			t.Errorf("%s: %s, and the table has %s", row[1], counts[0], row[0])
		}
	}
}

func number(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// inlineFlags matches flags in inline code, which are flags of rdapq unless another program is
// named.
var (
	inlineCode  = regexp.MustCompile("`([^`\n]+)`")
	inlineFlags = regexp.MustCompile(`--[a-z][a-z0-9-]*`)
)

// foreignFlags lists flags of other programs that the documents name.
var foreignFlags = []string{"--write-out", "--parallel"}

// TestDocsFlags checks that every flag named in a document exists.
func TestDocsFlags(t *testing.T) {
	var help bytes.Buffer
	for _, args := range [][]string{{"--help"}, {"bench", "--help"}} {
		cmd, _ := command(t, args...)
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		help.Write(out)
	}
	known := inlineFlags.FindAllString(help.String(), -1)
	seen := 0
	for _, file := range documents(t) {
		if strings.HasPrefix(file, "bench") || file == "CONTRIBUTING.md" {
			continue // the text is about other programs
		}
		text, err := os.ReadFile(filepath.Join(repository(), file))
		if err != nil {
			t.Fatal(err)
		}
		for _, code := range inlineCode.FindAllStringSubmatch(string(text), -1) {
			for _, flag := range inlineFlags.FindAllString(code[1], -1) {
				seen++
				if !slices.Contains(known, flag) && !slices.Contains(foreignFlags, flag) {
					t.Errorf("%s: there is no flag %s", file, flag)
				}
			}
		}
	}
	if seen < 100 {
		t.Errorf("the documents name %d flags", seen)
	}
}

// otherCommands are the commands of the documents that TestDocs does not run. Either .ci/run
// runs them, with the given line, or TestDocsOtherCommands runs them with RDAPQ_DOCS=1 and
// flags that shorten them. The files and tests that they name must exist in any case.
var otherCommands = []struct{ begins, ci, short string }{
	{begins: "go build ./...", ci: "go build -o /dev/null ./cmd/rdapq"},
	{begins: "go vet ./...", ci: "go vet ./..."},
	{begins: "go tool gofumpt", ci: "go tool gofumpt -l ."},
	{begins: "go tool staticcheck", ci: "go tool staticcheck ./..."},
	{begins: "go test ./...", ci: "go test -race ./..."},
	{begins: "go -C examples/", ci: `go -C "$module" test -race ./...`},
	// .ci/run does not use -update
	{begins: "go test ./internal/render -run Golden -update", ci: "go test -race ./..."},
	{begins: "RDAPQ_INTEROP=1 ", ci: "RDAPQ_INTEROP=1 go test ./interop"},
	{begins: "go test ", short: "-benchtime 1x"},
	{begins: "go install ", short: "-v"},
	{begins: "go generate ", short: "-n"}, // the command needs the network
	{begins: "go run ./bench/kill", short: "-lines 600 -kills 2"},
	{begins: "go run ./bench/batch", short: "-scale 1000"},
	{begins: "go run ./bench/internet", short: "-names 2000"},
	{begins: "bench/handshakes.sh", short: "--runs 1 --lookups 3/1"},
	{begins: "bench/servers.sh", short: "--lookups 40 --servers 4"},
	{begins: "bench/sizes.sh", short: "--runs 1 --bytes 16777216"},
	{begins: "bench/", short: "--runs 1"},
}

// TestDocsOtherCommands checks the commands of the documents that are not rdapq's.
func TestDocsOtherCommands(t *testing.T) {
	ci, err := os.ReadFile(filepath.Join(repository(), ".ci", "run"))
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	done := make(map[string]bool)
	for _, file := range documents(t) {
		for _, e := range examplesIn(t, file) {
			if ours.MatchString(strings.Replace(e.command, "go run ./cmd/rdapq", "rdapq", 1)) {
				continue
			}
			line, _, _ := strings.Cut(e.command, "   #")
			line = strings.TrimSpace(line)
			i := slices.IndexFunc(otherCommands, func(o struct{ begins, ci, short string }) bool { return strings.HasPrefix(line, o.begins) })
			if i < 0 {
				t.Errorf("%s:%d: nothing runs %s", e.file, e.line, line)
				continue
			}
			checked++
			if err := found(line); err != nil {
				t.Errorf("%s:%d: %s: %v", e.file, e.line, line, err)
			}
			switch o := otherCommands[i]; {
			case o.ci != "":
				if !strings.Contains(string(ci), o.ci) {
					t.Errorf("%s:%d: .ci/run does not run %s", e.file, e.line, o.ci)
				}
			case os.Getenv("RDAPQ_DOCS") != "" && !done[line]:
				done[line] = true
				t.Run(line, func(t *testing.T) { runShort(t, line, o.short) })
			}
		}
	}
	if checked < 10 {
		t.Errorf("the documents show %d such commands", checked)
	}
}

// runShort runs a command of the repository with flags that shorten it. The flags follow the
// package of go run, or the subcommand of go.
func runShort(t *testing.T, line, short string) {
	t.Helper()
	words := strings.Fields(strings.Replace(line, " -benchtime 2s", "", 1))
	at := len(words)
	if words[0] == "go" {
		at = 2
		if words[1] == "run" {
			at = 3
		}
	}
	line = strings.Join(slices.Insert(words, at, short), " ")
	cmd := exec.CommandContext(t.Context(), "sh", "-c", line)
	cmd.Dir = repository()
	cmd.Env = append(os.Environ(), "GOBIN="+t.TempDir(), "RDAPQ_DOCS=")
	out, err := cmd.CombinedOutput()
	t.Logf("%s\n%s", line, out)
	if err != nil {
		t.Error(err)
	}
}

var (
	testPattern  = regexp.MustCompile(`-(?:run|bench|fuzz) (\S+)`)
	testFunction = regexp.MustCompile(`(?m)^func ((?:Test|Benchmark|Fuzz|Example)\w*)\(`)
)

// found checks that the packages, tests and scripts named in a command exist.
func found(line string) error {
	words := strings.Fields(line)
	for len(words) > 0 && strings.Contains(words[0], "=") {
		words = words[1:]
	}
	if words[0] != "go" {
		_, err := os.Stat(filepath.Join(repository(), words[0]))
		return err
	}
	var functions []string
	for _, word := range words {
		dir, is := strings.CutPrefix(word, "./")
		if !is || dir == "..." {
			continue
		}
		files, err := filepath.Glob(filepath.Join(repository(), dir, "*.go"))
		if err != nil || len(files) == 0 {
			return fmt.Errorf("there is no package %s", word)
		}
		for _, file := range files {
			source, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			for _, f := range testFunction.FindAllSubmatch(source, -1) {
				functions = append(functions, string(f[1]))
			}
		}
	}
	for _, p := range testPattern.FindAllStringSubmatch(line, -1) {
		pattern, err := regexp.Compile(strings.Split(strings.Trim(p[1], "'"), "/")[0])
		if err != nil {
			return err
		}
		if pattern.String() != "^$" && pattern.String() != "." && !slices.ContainsFunc(functions, pattern.MatchString) {
			return fmt.Errorf("no test matches %s", pattern)
		}
	}
	return nil
}
