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

// A screen is standard error, on which lines can stand that are drawn over.
// What is written meanwhile comes out above them.
type screen struct {
	mu    sync.Mutex
	w     io.Writer
	file  *os.File // w, if lines can be drawn over on it
	drawn []string

	secrets *secret.Set // what is not to be printed
}

// setSecrets replaces the secrets in what is written from now on.
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

// terminal reports whether lines can be drawn over.
func (s *screen) terminal() bool { return s.file != nil }

func (s *screen) size() (width, height int) {
	width, height, err := term.GetSize(int(s.file.Fd()))
	if err != nil || width <= 0 || height <= 0 {
		return 80, 24
	}
	return width, height
}

// Write writes whole lines above what is drawn.
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

// draw puts lines in the place of those drawn before.
func (s *screen) draw(lines []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.redraw(lines)
}

func (s *screen) clear() { s.draw(nil) }

// redraw writes it all at once, or it would flicker.
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
	_, _ = s.w.Write(b.Bytes()) // a terminal that is gone is no reason to stop
}
