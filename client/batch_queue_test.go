package client

import (
	"hash/maphash"
	"net/url"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/rdapq/rdapq/bootstrap"
	"github.com/rdapq/rdapq/internal/gate"
)

// A testQueue has workers that hold each input until they are released.
type testQueue struct {
	*queue
	hosts   *gate.Hosts
	seed    maphash.Seed
	running atomic.Int32
	hold    chan struct{}
}

func newTestQueue(cfg Config) *testQueue {
	cfg = cfg.withDefaults()
	q := &testQueue{seed: maphash.MakeSeed(), hold: make(chan struct{}), hosts: gate.New(cfg.gate())}
	q.queue = newQueue(queueConfig{
		maxWorkers: cfg.Jobs, window: windowFor(cfg.Jobs), maxWait: cfg.maxWait(true), maxQueued: cfg.MaxQueued, maxSpill: cfg.MaxSpill,
		hosts: q.hosts, memory: newMemoryBudget(cfg.MaxMemory),
		spawn: func() {
			go func() {
				for {
					it, k := q.next()
					if it == nil {
						return
					}
					q.running.Add(1)
					<-q.hold
					q.running.Add(-1)
					if k.Verdict == gate.Allow {
						it.hostQueue.host.Refund(k)
					}
					q.finishRequest(it, false)
					q.takeDuplicates(it)
					q.releasePlace()
				}
			}()
		},
	})
	return q
}

// add pushes an input for a server; texts distinguish it from other inputs.
func (q *testQueue) add(base, text string) {
	u, err := url.Parse(base)
	if err != nil {
		panic(err)
	}
	it := &item{loaded: true, input: Input{Text: text, Server: base}}
	it.result = &Result{Query: Query{Type: TypeDomain, Name: text}}
	it.servers = bootstrap.Answer{URLs: []string{base}}
	it.key = it.result.Query.lookupKey(base)
	it.hash = it.key.hash(q.seed)
	it.host = q.hosts.At(u)
	q.push(it)
}

func (q *testQueue) want(t *testing.T, running int32) {
	t.Helper()
	synctest.Wait()
	if n := q.running.Load(); n != running {
		t.Errorf("%d lookups run, want %d", n, running)
	}
}

func TestQueueWakesIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newTestQueue(Config{Jobs: 2, PerHost: 1})
		q.add("https://a.example/", "1")
		q.want(t, 1)
		q.hold <- struct{}{}
		q.want(t, 0) // one worker is idle now
		// Two inputs for two servers need two workers: the idle worker and a new one.
		q.add("https://a.example/", "2")
		q.add("https://b.example/", "3")
		q.want(t, 2)
		close(q.hold)
		q.close()
		q.want(t, 0)
	})
}

func TestQueueParks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newTestQueue(Config{Jobs: 3, PerHost: 2})
		for _, text := range []string{"1", "2", "3", "4", "5"} {
			q.add("https://a.example/rdap/", text)
		}
		q.add("https://A.EXAMPLE:443/other/", "6") // another spelling of the same server
		q.want(t, 2)
		if q.workers != 2 {
			t.Errorf("%d workers, one of them for a server at its limit", q.workers)
		}
		q.add("https://b.example/", "7")
		q.want(t, 3)
		q.clear()
		close(q.hold)
		q.close()
		q.want(t, 0)
		if q.waiting != 0 || len(q.byHost) != 0 {
			t.Errorf("%d inputs in %d lanes left", q.waiting, len(q.byHost))
		}
	})
}
