package reqtrace_test

import (
	"net/http/httptrace"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rdapq/rdapq/internal/reqtrace"
	"github.com/rdapq/rdapq/pool"
)

func TestSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var late atomic.Int32
		p := reqtrace.NewSteps(time.Second, func() { late.Add(1) })
		defer p.Stop()
		hooks := httptrace.ContextClientTrace(p.WithTrace(t.Context()))
		expect := func(step pool.Step, n int32) {
			t.Helper()
			synctest.Wait()
			if got := p.Step(); got != step || late.Load() != n {
				t.Fatalf("at %s, called %d times; want at %s, %d times", got, late.Load(), step, n)
			}
		}
		expect(reqtrace.StepSent, 0)
		hooks.GetConn("rdap.example:443")
		expect(pool.StepQueue, 0)
		hooks.DNSStart(httptrace.DNSStartInfo{})
		expect(pool.StepResolve, 0)
		time.Sleep(800 * time.Millisecond)
		hooks.ConnectStart("tcp", "192.0.2.1:443")
		hooks.TLSHandshakeStart()
		expect(pool.StepHandshake, 0)
		time.Sleep(300 * time.Millisecond)
		expect(pool.StepHandshake, 1)
		hooks.GotConn(httptrace.GotConnInfo{Reused: true})
		expect(reqtrace.StepSent, 1)
	})
}

// A connection that is set up in time does not cause a call of the function for late
// connections.
func TestStepsInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := reqtrace.NewSteps(time.Second, func() { t.Error("called") })
		hooks := httptrace.ContextClientTrace(p.WithTrace(t.Context()))
		hooks.ConnectStart("tcp", "192.0.2.1:443")
		hooks.GotConn(httptrace.GotConnInfo{})
		time.Sleep(time.Minute)
		synctest.Wait()
	})
}
