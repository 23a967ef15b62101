package main

import (
	"testing"

	"github.com/rdapq/rdapq/internal/rdaptest"
)

// With each server that is hostile over HTTP/3, the command ends with a row per name, within a
// memory limit. By default it falls back to HTTP/2 and finds all names, also in the next run.
// RDAPQ_HOSTILE=1 tries all kinds of servers and prints the slowest and the largest run.
func TestHostileH3Connections(t *testing.T) {
	t.Parallel()
	ca, caFile := hostileCA(t)
	var most extremes
	t.Run("all", func(t *testing.T) {
		for _, h := range rdaptest.SomeHostile(rdaptest.HostileQUIC(), hostileSample) {
			t.Run(h.Name, func(t *testing.T) {
				t.Parallel()
				s := rdaptest.StartHostileH3(t, rdaptest.Config{CA: ca}, h)
				dir := t.TempDir()
				for range h.Good {
					most.note(h.Name, lookUpRows(t, s.URL(), caFile, dir, true, "--http", "3"))
				}
				most.note(h.Name, lookUpRows(t, s.URL(), caFile, dir, false, "--http", "3"))
			})
			t.Run(h.Name+" with HTTP/2", func(t *testing.T) {
				t.Parallel()
				s := rdaptest.StartHostileH3(t, rdaptest.Config{CA: ca}, h)
				dir := t.TempDir()
				for range 1 + h.Good + 2 { // HTTP/3 is first advertised, then works, fails, and is avoided
					most.note(h.Name+" with HTTP/2", lookUpRows(t, s.URL(), caFile, dir, true))
				}
			})
		}
	})
	most.log(t)
}
