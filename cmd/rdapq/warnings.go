package main

import (
	"context"
	"log/slog"
	"strings"
)

// warnings is a log handler that prints warnings of the library as those of the
// command, and nothing else.
type warningHandler struct{ warn func(string) }

func (w warningHandler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn
}
func (w warningHandler) WithAttrs([]slog.Attr) slog.Handler { return w }
func (w warningHandler) WithGroup(string) slog.Handler      { return w }

func (w warningHandler) Handle(_ context.Context, r slog.Record) error {
	var b strings.Builder
	b.WriteString(r.Message)
	r.Attrs(func(a slog.Attr) bool {
		b.WriteString(" (" + a.Key + ": " + a.Value.String() + ")")
		return true
	})
	w.warn(b.String())
	return nil
}
