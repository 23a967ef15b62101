//go:build !linux

package pool_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/rdapq/rdapq/pool"
)

func TestFastOpenIsRefused(t *testing.T) {
	if p, err := pool.New(pool.Config{FastOpen: true}); err == nil {
		p.Close()
		t.Error("New took FastOpen")
	} else if !strings.Contains(err.Error(), runtime.GOOS) {
		t.Errorf("%q doesn't name the system", err)
	}
}
