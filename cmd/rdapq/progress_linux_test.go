package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestProgressOnTerminal gives the command a terminal for standard error.
func TestProgressOnTerminal(t *testing.T) {
	t.Parallel()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("no terminal: ", err)
	}
	defer master.Close()
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(int(master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 30, Col: 100}); err != nil {
		t.Fatal(err)
	}
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer tty.Close()
	names := filepath.Join(t.TempDir(), "names.txt")
	if err := os.WriteFile(names, []byte(strings.Repeat("courbu.re\nfree.re\n", 30)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		flags []string
		shown bool
	}{{nil, true}, {[]string{"--no-progress"}, false}, {[]string{"-q"}, false}} {
		args := append([]string{"--demo", "--demo-rtt", "500ms", "-f", names, "-o", filepath.Join(t.TempDir(), "out.ndjson")}, tt.flags...)
		cmd, _ := command(t, args...)
		cmd.Stderr = tty
		read := make(chan string, 1)
		go func() { // all the time, as a terminal does
			var said bytes.Buffer
			for buf := make([]byte, 4096); !bytes.HasSuffix(said.Bytes(), []byte("END")); {
				n, err := master.Read(buf)
				if err != nil {
					break
				}
				said.Write(buf[:n])
			}
			read <- said.String()
		}()
		if err := cmd.Run(); err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(tty, "END")
		said := <-read
		if drawn := strings.Contains(said, " of 60 lines, ") && strings.Contains(said, "\x1b[K") && strings.Contains(said, " running"); drawn != tt.shown {
			t.Errorf("%v: %q", tt.flags, said)
		}
		if i := strings.LastIndex(said, "\x1b["); tt.shown && !strings.HasPrefix(said[i:], "\x1b[J60 lines: ") {
			t.Errorf("the lines are not taken away before the summary: %q", said[i:])
		}
	}
}
