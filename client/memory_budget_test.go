package client

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/rdapq/rdapq/internal/testrun"
)

// A waiting reader continues when there is room, and stops when its context ends.
func TestBodiesWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newMemoryBudget(10)
		over, patient, gone := new(task), new(task), new(task)
		if err := b.take(t.Context(), over, 25); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- b.take(ctx, gone, 5) }()
		granted := make(chan error, 1)
		go func() { granted <- b.take(t.Context(), patient, 5) }()
		synctest.Wait()
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) || gone.reserved != 0 {
			t.Errorf("%v, %d held; want canceled", err, gone.reserved)
		}
		select {
		case err := <-granted:
			t.Errorf("room before there is any: %v", err)
		default:
		}
		b.release(over)
		if err := <-granted; err != nil || patient.reserved != 5 || b.used.Load() != 5 {
			t.Errorf("%v, %d held, %d in all", err, patient.reserved, b.used.Load())
		}
	})
}

// Bodies that alone exceed the limit pass one after another, even if a body is requested just
// as another is released. RDAPQ_GIANTS sets the rounds.
func TestBodiesGiants(t *testing.T) {
	rounds := testrun.Env(t, "RDAPQ_GIANTS", 10_000)
	b := newMemoryBudget(1)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range rounds {
				giant := new(task)
				for range 2 {
					if err := b.take(t.Context(), giant, 10); err != nil {
						t.Error(err)
						return
					}
				}
				b.release(giant)
			}
		})
	}
	wg.Wait()
	if n := b.used.Load(); n != 0 || b.overdraft != nil || b.watchers.Load() != 0 {
		t.Errorf("%d bytes, overdraft %v, %d watchers", n, b.overdraft, b.watchers.Load())
	}
}
