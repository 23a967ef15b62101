package pool_test

import (
	"errors"
	"testing"
	"time"

	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/pool"
)

// A server that allows no stream any more makes requests fail, which wait for as
// long as a connection may take, and not for ever. The next one gets a new connection.
func TestNoStreamAllowed(t *testing.T) {
	t.Parallel()
	s := rdaptest.Start(t, rdaptest.Config{Protocols: rdaptest.H2Only})
	s.SetConnRules(rdaptest.ConnRules{Raw: &rdaptest.RawH2{LowerOn: 1, LowerTo: 0}})
	p := newPool(t, s, pool.Config{ConnectTimeout: 2 * time.Second})
	for i := range 3 {
		_, err := get(t.Context(), p, domain(s, i))
		if i != 1 {
			if err != nil {
				t.Errorf("request %d: %v", i, err)
			}
			continue
		}
		e, ok := errors.AsType[*pool.Error](err)
		if !ok || e.Step != pool.StepQueue || !e.Timeout() {
			t.Errorf("request %d: %v", i, err)
		}
	}
	if n := p.Stats().Connections; n != 2 {
		t.Errorf("%d connections", n)
	}
}
