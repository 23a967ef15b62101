package client

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"
)

// A host with half of all lines uses its full limit from the start, while the other hosts make
// progress.
func TestLargestHostFirst(t *testing.T) {
	const (
		small, each = 40, 50 // number of small hosts, and of lines of each
		large       = small * each
		perHost     = 8
		jobs        = 16
		took        = 100 * time.Millisecond
		least       = large / perHost * took // lower bound of the time for the large host
		firstSpan   = 10 * time.Second
	)
	inputs := func(yield func(Input, error) bool) {
		for i := range int64(2 * large) {
			text := "name" + strconv.FormatInt(i, 10) + ".large"
			if i%2 == 1 {
				text = "name" + strconv.FormatInt(i, 10) + ".small" + strconv.FormatInt(i/2%small, 10)
			}
			if !yield(Input{Line: i + 1, Text: text}, nil) {
				return
			}
		}
	}
	synctest.Test(t, func(t *testing.T) {
		e := run(t, Config{Jobs: jobs, PerHost: perHost, SpillDir: t.TempDir()}, inputs, after(took))
		if v := e.verdicts(); v[VerdictRegistered] != 2*large {
			t.Fatalf("%v", v)
		}
		last := time.Duration(0)
		for _, at := range e.asked["large.example"] {
			last = max(last, at)
		}
		if last > least*11/10 {
			t.Errorf("the large host is done after %v, its bound is %v", last, least)
		}
		if took := time.Since(e.begin); took > least*12/10 {
			t.Errorf("all hosts are done after %v, the bound is %v", took, least)
		}
		for i := range small {
			name := "small" + strconv.Itoa(i) + ".example"
			n := 0
			for _, at := range e.asked[name] {
				if at < firstSpan {
					n++
				}
			}
			if n == 0 {
				t.Errorf("%s had no request within %v", name, firstSpan)
			}
		}
	})
}
