package main

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rdapq/rdapq/internal/rdaptest"
)

// A pseudo is a pseudoterminal.
type pseudo struct {
	master, tty *os.File
}

func newPseudo(t *testing.T, columns uint16) pseudo {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("no pseudoterminal: ", err)
	}
	t.Cleanup(func() { master.Close() })
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(int(master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 30, Col: columns}); err != nil {
		t.Fatal(err)
	}
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tty.Close() })
	return pseudo{master, tty}
}

// watch returns the output of the terminal up to END.
func (p pseudo) watch() <-chan string {
	read := make(chan string, 1)
	go func() { // reads continuously, as a terminal does
		var said bytes.Buffer
		for buf := make([]byte, 4096); !bytes.HasSuffix(said.Bytes(), []byte("END")); {
			n, err := p.master.Read(buf)
			if err != nil {
				break
			}
			said.Write(buf[:n])
		}
		read <- said.String()
	}()
	return read
}

// shownOn runs the command with the terminal as standard output.
func (p pseudo) shownOn(t *testing.T, args ...string) string {
	t.Helper()
	cmd, _ := command(t, args...)
	cmd.Stdout = p.tty
	return p.run(t, cmd)
}

// run runs a command that writes to the terminal and returns its output.
func (p pseudo) run(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	read := p.watch()
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(p.tty, "END")
	return strings.ReplaceAll(strings.TrimSuffix(<-read, "END"), "\r\n", "\n")
}

// Text is folded at the width of the terminal and coloured.
func TestTextOnTerminal(t *testing.T) {
	t.Parallel()
	for _, columns := range []uint16{60, 100} {
		p := newPseudo(t, columns)
		said := p.shownOn(t, "--demo", "--demo-rtt", "0", "--color", "never", "rustvale-cartography.com", "192.0.2.1")
		widest := 0
		for line := range strings.Lines(said) {
			widest = max(widest, len([]rune(strings.TrimSuffix(line, "\n"))))
		}
		if widest > int(columns) || widest < int(columns)-20 {
			t.Errorf("%d columns on a terminal of %d:\n%s", widest, columns, said)
		}
		if coloured := p.shownOn(t, "--demo", "--demo-rtt", "0", "courbu.re"); !strings.Contains(coloured, "\x1b[") {
			t.Errorf("no colour in %q", coloured)
		}
	}
}

// NO_COLOR and TERM=dumb disable colour.
func TestTerminalWithoutColour(t *testing.T) {
	t.Parallel()
	for _, variable := range []string{"NO_COLOR=1", "TERM=dumb"} {
		p := newPseudo(t, 80)
		cmd, _ := command(t, "--demo", "--demo-rtt", "0", "courbu.re")
		cmd.Env = append(cmd.Env, variable)
		cmd.Stdout = p.tty
		if said := p.run(t, cmd); strings.Contains(said, "\x1b") || !strings.HasPrefix(said, "courbu.re: registered\n") {
			t.Errorf("%s: %q", variable, said)
		}
	}
}

// apart matches the time of the last result, an empty line, and a receipt.
var apart = regexp.MustCompile(` m?s\n\n1 lookup over 1 connection`)

// A blank line separates results and receipt on a terminal, but not in a file.
func TestBlankLineBeforeReceipt(t *testing.T) {
	t.Parallel()
	p := newPseudo(t, 80)
	args := []string{"--demo", "--demo-rtt", "0", "--color", "never", "--stats", "courbu.re"}
	cmd, _ := command(t, args...)
	cmd.Stdout, cmd.Stderr = p.tty, p.tty
	if said := p.run(t, cmd); !apart.MatchString(said) {
		t.Errorf("no blank line before the receipt:\n%s", said)
	}
	cmd, stderr := command(t, args...)
	cmd.Stdout = p.tty
	if p.run(t, cmd); !strings.HasPrefix(stderr.String(), "1 lookup over 1 connection") {
		t.Errorf("a receipt in a file begins with %s", stderr)
	}
}

// A response cannot control the terminal in any format, except with --raw=force.
func TestRawOnTerminal(t *testing.T) {
	t.Parallel()
	const evil = "{\"objectClassName\":\"domain\",\n\t\"ldhName\":\"alpha.example\",\"x\":\"\x1b]0;title\x07\u202e\u009b\"}"
	s := rdaptest.Start(t, rdaptest.Config{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/rdap+json")
		_, _ = w.Write([]byte(evil))
	})})
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, s.CA().PEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	p := newPseudo(t, 80)
	got := p.shownOn(t, "--ca", ca, "-s", s.URL(), "--raw", "alpha.example")
	if want := "{\"objectClassName\":\"domain\",\n\t\"ldhName\":\"alpha.example\",\"x\":\"\\x1b]0;title\\x07\\u202e\\x9b\"}\n"; got != want {
		t.Errorf("raw %q, want %q", got, want)
	}
	if got := p.shownOn(t, "--ca", ca, "-s", s.URL(), "--raw=force", "alpha.example"); got != evil {
		t.Errorf("raw=force: %q, want %q", got, evil)
	}
	for _, flags := range [][]string{{"--format", "text"}, {"--format", "json"}, {"--format", "ndjson"}, {"--format", "csv"}, {"--format", "table"}, {"--jq", "."}, {"--jq", ".rdap.x"}, {"-v", "--color", "never"}} {
		got := p.shownOn(t, append([]string{"--ca", ca, "-s", s.URL(), "--color", "never", "alpha.example"}, flags...)...)
		if strings.ContainsAny(got, "\x1b\x07\u202e\u009b") {
			t.Errorf("%v: %q", flags, got)
		}
	}
}
