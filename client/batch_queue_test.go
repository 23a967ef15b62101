package client

import (
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/rdapq/rdapq/bootstrap"
)

// testQueue has workers that hold each job until they are told to go on.
type testQueue struct {
	*queue
	running atomic.Int32
	hold    chan struct{}
}

func newTestQueue(workers, perHost int) *testQueue {
	q := &testQueue{hold: make(chan struct{})}
	q.queue = newQueue(workers, func() limiter { return fixedLimit(perHost) }, func() {
		go func() {
			for {
				j, ok := q.next()
				if !ok {
					return
				}
				q.running.Add(1)
				<-q.hold
				q.running.Add(-1)
				q.done(j)
			}
		}()
	})
	return q
}

func (q *testQueue) add(base string) {
	q.push(job{result: new(Result), servers: bootstrap.Answer{URLs: []string{base}}})
}

func (q *testQueue) want(t *testing.T, running int32) {
	t.Helper()
	synctest.Wait()
	if n := q.running.Load(); n != running {
		t.Errorf("%d jobs run, want %d", n, running)
	}
}

func TestQueueWakesIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newTestQueue(2, 1)
		q.add("https://a.example/")
		q.want(t, 1)
		q.hold <- struct{}{}
		q.want(t, 0) // one worker is idle now
		// Two places at two servers: the idle one and a new one are needed.
		q.add("https://a.example/")
		q.add("https://b.example/")
		q.want(t, 2)
		close(q.hold)
		q.close()
		q.want(t, 0)
	})
}

func TestQueueParks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newTestQueue(3, 2)
		for range 5 {
			q.add("https://a.example/rdap/")
		}
		q.add("https://A.EXAMPLE:443/other/") // the same server
		q.want(t, 2)
		if q.workers != 2 {
			t.Errorf("%d workers, one of them for a server at its limit", q.workers)
		}
		q.add("https://b.example/")
		q.want(t, 3)
		q.clear()
		close(q.hold)
		q.close()
		q.want(t, 0)
		if q.jobs != 0 {
			t.Errorf("%d jobs left", q.jobs)
		}
	})
}
