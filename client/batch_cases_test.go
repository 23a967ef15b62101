package client_test

import (
	"fmt"
	"net/http"
	"path"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/rdaptest"
)

// A server responds to fifty lookups, then sends only notices, then 503, then truncated
// responses, and then works again. Each response is classified correctly, and every line has
// its result. A few responses of the last two kinds are enough, because most of them go to
// probes at growing intervals.
func TestBatchOfAServerThatStumbles(t *testing.T) {
	t.Parallel() // the test mostly waits
	const total, each = 120, 6
	var asked atomic.Int64
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := asked.Add(1)
		switch {
		case n > 50 && n <= 50+each:
			w.Header().Set("Content-Type", "application/rdap+json")
			fmt.Fprint(w, `{"rdapConformance":["rdap_level_0"],"notices":[{"title":"busy","description":["later"]}]}`)
			return
		case n > 50+each && n <= 50+2*each:
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprint(w, "<h1>busy</h1>")
			return
		case n > 50+2*each && n <= 50+3*each:
			w.Header().Set("Content-Type", "application/rdap+json")
			w.Header().Set("Content-Length", "1000")
			w.WriteHeader(http.StatusOK)
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("Content-Type", "application/rdap+json")
		fmt.Fprintf(w, `{"objectClassName":"domain","ldhName":%q}`, path.Base(r.URL.Path))
	})
	_, a := newPair(t, rdaptest.Config{Handler: handler}, client.Config{Jobs: 4, Attempts: 5})
	texts := make([]string, total)
	for i := range texts {
		texts[i] = fmt.Sprintf("name%d.example", i)
	}
	classes := make(map[string]int)
	seen := make([]bool, total+1)
	for r := range a.Batch(t.Context(), lines(texts...)).All() {
		checkResult(t, r)
		if seen[r.Line] {
			t.Errorf("line %d twice", r.Line)
		}
		seen[r.Line] = true
		class := string(r.Verdict)
		if e := client.ErrorOf(r); e != nil {
			class += " " + string(e.Code)
		}
		classes[class]++
	}
	if slices.Contains(seen[1:], false) {
		t.Error("a line has no result")
	}
	if classes["failed not_rdap"] != each {
		t.Errorf("notices were taken for something else: %v", classes)
	}
	lost := classes["failed transport"] + classes["failed server_error"]
	if classes["registered"]+lost != total-each || classes["registered"] < 50 {
		t.Errorf("%v do not add up to %d", classes, total)
	}
}

// A thousand lookups with sixteen jobs over HTTP/1.1 use sixteen connections, which are all
// closed at the end.
func TestBatchConnections(t *testing.T) {
	s, a := newPair(t, rdaptest.Config{Protocols: rdaptest.H1Only, Latency: 5 * time.Millisecond}, client.Config{Jobs: 16, PerHost: 16})
	texts := make([]string, 1000)
	for i := range texts {
		texts[i] = fmt.Sprintf("name%d.example", i)
	}
	count := 0
	for r := range a.Batch(t.Context(), lines(texts...)).All() {
		if count++; r.Verdict != client.VerdictRegistered {
			t.Errorf("%s: %s", r.Query, describe(r))
		}
	}
	if c := s.Counts(); count != len(texts) || c.Requests != int64(len(texts)) || c.Connections > 16 {
		t.Errorf("%d results, %d requests over %d connections", count, c.Requests, c.Connections)
	}
}
