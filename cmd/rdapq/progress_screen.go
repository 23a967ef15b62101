package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/term"

	"github.com/rdapq/rdapq/internal/secret"
)

// A screen is standard error with an updatable display at the bottom. Text written to
// it appears above the display.
type screen struct {
	mu    sync.Mutex
	w     io.Writer
	file  *os.File // w as a file, if it is a terminal with escape sequences
	drawn []string

	secrets *secret.Set // secrets to redact from all output
}

// setSecrets sets the secrets redacted from all further output.
func (s *screen) setSecrets(secrets *secret.Set) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.secrets = secrets
}

// newScreen returns a screen on w.
func newScreen(w io.Writer) *screen {
	s := &screen{w: w}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb" && supportsEscapes(f) {
		s.file = f
	}
	return s
}

// terminal reports whether the screen can draw.
func (s *screen) terminal() bool { return s.file != nil }

func (s *screen) size() (width, height int) {
	width, height, err := term.GetSize(int(s.file.Fd()))
	if err != nil || width <= 0 || height <= 0 {
		return 80, 24
	}
	return width, height
}

// Write writes whole lines above the display.
func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(p)
	p, _ = s.secrets.Bytes(p)
	lines := s.drawn
	if len(lines) > 0 {
		s.redraw(nil)
	}
	_, err := s.w.Write(p)
	if len(lines) > 0 {
		s.redraw(lines)
	}
	if err != nil {
		return 0, err
	}
	return n, nil
}

// draw replaces the display by lines.
func (s *screen) draw(lines []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.redraw(lines)
}

func (s *screen) clear() { s.draw(nil) }

// redraw replaces the display with a single write, to avoid flicker.
func (s *screen) redraw(lines []string) {
	if len(s.drawn) == 0 && len(lines) == 0 {
		return
	}
	var b bytes.Buffer
	if len(s.drawn) > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", len(s.drawn))
	}
	for _, l := range lines {
		b.WriteString(l + "\x1b[K\n")
	}
	if len(s.drawn) > len(lines) {
		b.WriteString("\x1b[J")
	}
	s.drawn = lines
	_, _ = s.w.Write(b.Bytes()) // losing the terminal does not end the run
}
