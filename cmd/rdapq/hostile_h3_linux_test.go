package main

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/rdapq/rdapq/internal/rdaptest"
)

// The command ends at each server that is hostile over HTTP/3, with a row for each
// name, in bounded memory. By default it uses HTTP/2 there, and finds all names, as
// in the run after that. RDAPQ_HOSTILE=1 tries all of them, and prints the slowest and
// the largest.
func TestHostileH3Connections(t *testing.T) {
	t.Parallel()
	ca, err := rdaptest.NewCA()
	if err != nil {
		t.Fatal(err)
	}
	caFile := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(caFile, ca.PEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	turn := make(chan struct{}, 16)
	var mu sync.Mutex
	var slowest, largest string
	var most time.Duration
	var peak int64
	measure := func(name string, d time.Duration, rss int64) {
		mu.Lock()
		defer mu.Unlock()
		if d > most {
			most, slowest = d, name
		}
		if rss > peak {
			peak, largest = rss, name
		}
	}
	t.Run("all", func(t *testing.T) {
		for i, h := range rdaptest.HostileQUIC() {
			if os.Getenv("RDAPQ_HOSTILE") == "" && i%hostileSample != 0 {
				continue
			}
			t.Run(h.Name, func(t *testing.T) {
				t.Parallel()
				turn <- struct{}{}
				defer func() { <-turn }()
				s := rdaptest.StartHostileH3(t, rdaptest.Config{CA: ca}, h)
				dir := t.TempDir()
				for range h.Good {
					d, rss := lookUpRows(t, s.URL(), caFile, dir, true, "--http", "3")
					measure(h.Name, d, rss)
				}
				d, rss := lookUpRows(t, s.URL(), caFile, dir, false, "--http", "3")
				measure(h.Name+" over HTTP/3", d, rss)
			})
			t.Run(h.Name+" beside HTTP/2", func(t *testing.T) {
				t.Parallel()
				turn <- struct{}{}
				defer func() { <-turn }()
				s := rdaptest.StartHostileH3(t, rdaptest.Config{CA: ca}, h)
				dir := t.TempDir()
				for range 1 + h.Good + 2 { // HTTP/3 is learned of, works, fails, and is left alone
					d, rss := lookUpRows(t, s.URL(), caFile, dir, true)
					measure(h.Name+" beside HTTP/2", d, rss)
				}
			})
		}
	})
	t.Logf("slowest: %s, %v; largest: %s, %d MiB", slowest, most, largest, peak>>20)
}
