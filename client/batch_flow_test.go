package client

import (
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rdapq/rdapq/internal/gate"
)

// Lines for parked servers are spilled to a file so that other lines proceed. No line is lost.
func TestEngineSpills(t *testing.T) {
	const parked, total = 20_000, 20_500
	inputs := func(yield func(Input, error) bool) {
		for i := range total {
			in := Input{Line: int64(i + 1), Text: "name" + strconv.Itoa(i) + ".parked", Extra: []byte{byte(i)}}
			if i >= parked {
				in.Text = "name" + strconv.Itoa(i) + ".fast"
			}
			if !yield(in, nil) {
				return
			}
		}
	}
	synctest.Test(t, func(t *testing.T) {
		var spilled, inMemory int64
		e := run(t, Config{Jobs: 8, PerHost: 1, SpillDir: t.TempDir()}, inputs, func(k *task, nth int) (Verdict, gate.Outcome) {
			if k.host.Name() == "parked.example" && nth == 1 {
				time.Sleep(time.Hour)
			}
			return VerdictRegistered, gate.Outcome{Kind: gate.Answered}
		}, func(e *engine, _ *Result) bool {
			p := e.b.Progress()
			spilled, inMemory = max(spilled, p.Spilled), max(inMemory, p.Read-p.Done-p.Spilled)
			return true
		})
		if v := e.verdicts(); v[VerdictRegistered] != total {
			t.Errorf("%v", v)
		}
		for i, line := range e.order {
			if i < total-parked && line <= parked {
				t.Fatalf("result %d is of line %d, whose server is parked", i, line)
			}
			if r := e.seen[line]; len(r.Extra) != 1 || r.Extra[0] != byte(line-1) || r.Query.Text == "" {
				t.Fatalf("line %d: %+v", line, r)
			}
		}
		if spilled < parked/2 || inMemory > 3*windowPerJob*8 {
			t.Errorf("%d spilled, %d in memory", spilled, inMemory)
		}
	})
}

// Without a temporary file, a batch uses limited memory as well.
func TestEngineNoSpill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		most := int64(0)
		e := run(t, Config{Jobs: 4, PerHost: 1, SpillDir: "/nowhere/at/all"}, numbered(20_000, "slow", "slow", "slow", "fast"), after(time.Millisecond), func(e *engine, _ *Result) bool {
			p := e.b.Progress()
			most = max(most, p.Read-p.Done)
			return true
		})
		if v := e.verdicts(); v[VerdictRegistered] != 20_000 || most > 2000 {
			t.Errorf("%v, %d in memory", v, most)
		}
	})
}

func TestEngineDuplicates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inputs := func(yield func(Input, error) bool) {
			for i := range 3000 {
				name := []string{"Same.One", "same.one.", "b" + strconv.Itoa(i/100) + ".one"}[i%3]
				if !yield(Input{Line: int64(i + 1), Text: name, Extra: []byte(name)}, nil) {
					return
				}
			}
		}
		e := run(t, Config{}, inputs, after(10*time.Millisecond))
		shared := 0
		for line, r := range e.seen {
			if !r.Shared {
				continue
			}
			shared++
			if first := e.seen[r.SharedLine]; first == nil || first.Shared || first.Query.Name != r.Query.Name {
				t.Errorf("line %d shares line %d: %+v", line, r.SharedLine, first)
			}
		}
		if n := len(e.asked["one.example"]); n+shared != 3000 || shared < 2000 {
			t.Errorf("%d requests, %d lines share the response to another", n, shared)
		}
		if v := e.verdicts(); v[VerdictRegistered] != 3000 {
			t.Errorf("%v", v)
		}
		for line, r := range e.seen {
			if r.Query.Text != string(r.Extra) || r.Line != line {
				t.Errorf("line %d: %q for %q", line, r.Query.Text, r.Extra)
			}
		}
	})
}

func TestEngineDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		read := 0
		inputs := func(yield func(Input, error) bool) {
			for i := range 10_000 {
				read++
				if !yield(Input{Line: int64(i + 1), Text: "name" + strconv.Itoa(i) + ".one"}, nil) {
					return
				}
			}
		}
		drained := time.Duration(0)
		e := run(t, Config{SpillDir: t.TempDir()}, inputs, after(time.Second), func(e *engine, r *Result) bool {
			if drained == 0 {
				drained = time.Since(e.begin)
				e.b.Drain()
			}
			return true
		})
		v := e.verdicts()
		if len(e.seen) != read || v[VerdictRegistered] != len(e.asked["one.example"]) || v[VerdictRegistered]+v[VerdictFailed] != read {
			t.Errorf("%d of %d inputs: %v, %d asked", len(e.seen), read, v, len(e.asked["one.example"]))
		}
		for _, r := range e.seen {
			if r.Verdict == VerdictFailed && (ErrorOf(r).Code != CodeNotSent || !strings.HasPrefix(ErrorOf(r).Message, "not sent: the batch was ended")) {
				t.Errorf("%+v", ErrorOf(r))
			}
		}
		if took := time.Since(e.begin) - drained; took > time.Second {
			t.Errorf("it went on for %v", took)
		}
		if p := e.b.Progress(); p.Read != int64(read) || p.Done != int64(read) || p.InFlight != 0 || p.Queued != 0 || len(p.Servers) != 1 || p.Verdicts[VerdictFailed] != int64(v[VerdictFailed]) {
			t.Errorf("%+v", p)
		}
	})
}
