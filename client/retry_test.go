package client

import (
	"math"
	"testing"
	"time"
)

func TestDecide(t *testing.T) {
	const (
		backOff  = 3 * time.Second
		throttle = 200 * time.Millisecond
	)
	failed := action{retry: retryFailed, wait: backOff}
	budget := func(change func(b *retryBudget)) retryBudget {
		b := retryBudget{
			attempts: 1, maxAttempts: 3, servers: 1,
			maxWait: time.Minute, deadline: math.MaxInt64,
			backOff: backOff, throttledBackOff: throttle,
		}
		if change != nil {
			change(&b)
		}
		return b
	}
	transientFailure := outcome{unreachable: true, transient: true, connection: true}
	outage := outcome{unreachable: true, transient: true, connection: true, outage: true}
	throttled := outcome{throttled: true, retryAfter: 10 * time.Second}

	for _, tt := range []struct {
		name   string
		o      outcome
		budget retryBudget
		want   action
	}{
		{"answered", outcome{final: true, transient: true, throttled: true}, budget(nil), action{}},
		{"answered, another server", outcome{final: true, unreachable: true}, budget(func(b *retryBudget) { b.untried = 1 }), action{}},
		{"rejected", outcome{}, budget(nil), action{}},

		{"unreachable, another server", outcome{unreachable: true}, budget(func(b *retryBudget) { b.servers, b.untried = 2, 1 }), action{retry: retryElsewhere, rotate: true}},
		{"unreachable, another server, attempts used", transientFailure, budget(func(b *retryBudget) { b.servers, b.untried, b.attempts = 2, 1, 3 }), action{}},
		{"unreachable, last server", transientFailure, budget(func(b *retryBudget) { b.servers = 2 }), action{retry: retryFailed, wait: backOff, rotate: true}},
		{"unreachable for good", outcome{unreachable: true}, budget(nil), action{}},

		{"transient", outcome{transient: true}, budget(nil), failed},
		{"transient, attempts used", outcome{transient: true}, budget(func(b *retryBudget) { b.attempts = 3 }), action{}},
		{"transient, deadline before", outcome{transient: true}, budget(func(b *retryBudget) { b.deadline = backOff }), action{}},
		{"transient, deadline after", outcome{transient: true}, budget(func(b *retryBudget) { b.deadline = backOff + 1 }), failed},

		{"link, connection", transientFailure, budget(func(b *retryBudget) { b.link = true }), action{retry: retryFailed, wait: backOff, rotate: true}},
		{"link, connection, twice", transientFailure, budget(func(b *retryBudget) { b.link, b.attempts = true, 2 }), action{}},
		{"link, one attempt configured", transientFailure, budget(func(b *retryBudget) { b.link, b.maxAttempts = true, 1 }), action{}},
		{"link, server failed", outcome{transient: true}, budget(func(b *retryBudget) { b.link = true }), action{}},
		{"link, throttled", throttled, budget(func(b *retryBudget) { b.link = true }), action{}},

		{"throttled", throttled, budget(nil), action{retry: retryThrottled, wait: 10 * time.Second}},
		{"throttled without Retry-After", outcome{throttled: true}, budget(nil), action{retry: retryThrottled, wait: throttle}},
		{"throttled, attempts used", throttled, budget(func(b *retryBudget) { b.attempts = 3 }), action{}},
		{"throttled, batch", throttled, budget(func(b *retryBudget) { b.batch, b.attempts = true, 29 }), action{retry: retryThrottled, wait: 10 * time.Second}},
		{"throttled, batch, attempts used", throttled, budget(func(b *retryBudget) { b.batch, b.attempts = true, 30 }), action{}},
		{"throttled, batch, one attempt configured", throttled, budget(func(b *retryBudget) { b.batch, b.maxAttempts = true, 1 }), action{}},
		{"throttled, wait as long as allowed", throttled, budget(func(b *retryBudget) { b.waited = 50 * time.Second }), action{retry: retryThrottled, wait: 10 * time.Second}},
		{"throttled, longer than allowed", throttled, budget(func(b *retryBudget) { b.waited = 51 * time.Second }), action{}},
		{"throttled, no wait", outcome{throttled: true}, budget(func(b *retryBudget) { b.maxWait = 0 }), action{}},
		{"throttled, deadline before", throttled, budget(func(b *retryBudget) { b.deadline = 9 * time.Second }), action{}},

		{"session", outcome{session: true}, budget(nil), action{retry: retrySession}},
		{"session, attempts used", outcome{session: true}, budget(func(b *retryBudget) { b.attempts = 3 }), action{}},

		{"outage, single lookup", outage, budget(func(b *retryBudget) { b.attempts = 3 }), action{}},
		{"outage, batch", outage, budget(func(b *retryBudget) { b.batch, b.attempts = true, 3 }), action{retry: retryFailed, rotate: true, outage: true}},
		{"outage, batch, before", outage, budget(func(b *retryBudget) { b.batch, b.attempts, b.outageFailures = true, 150, 149 }), action{retry: retryFailed, rotate: true, outage: true}},
		{"outage, batch, too often", outage, budget(func(b *retryBudget) { b.batch, b.attempts, b.outageFailures = true, 203, 200 }), action{}},
		{"outage, batch, two servers", outage, budget(func(b *retryBudget) { b.batch, b.attempts, b.servers = true, 3, 2 }), action{}},
		{"outage, batch, one attempt configured", outage, budget(func(b *retryBudget) { b.batch, b.maxAttempts = true, 1 }), action{}},
		{"no outage, batch", transientFailure, budget(func(b *retryBudget) { b.batch, b.attempts = true, 3 }), action{}},
		{"failures in an outage do not count", outcome{transient: true}, budget(func(b *retryBudget) { b.batch, b.attempts, b.outageFailures = true, 5, 3 }), failed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := decide(tt.o, tt.budget); got != tt.want {
				t.Errorf("decide(%+v, %+v)\n= %+v\nwant %+v", tt.o, tt.budget, got, tt.want)
			}
		})
	}
}
