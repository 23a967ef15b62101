//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package pool_test

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// takeDescriptors uses up descriptors until this process has left descriptors available.
func takeDescriptors(t *testing.T, left int) {
	t.Helper()
	limit := unix.Rlimit{Cur: 64, Max: 64}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Skip(err)
	}
	var taken []*os.File
	for {
		f, err := os.Open(os.DevNull)
		if err != nil {
			break
		}
		taken = append(taken, f)
	}
	if len(taken) < left {
		t.Skipf("only %d descriptors", len(taken))
	}
	for _, f := range taken[:left] {
		f.Close()
	}
	t.Cleanup(func() {
		for _, f := range taken[left:] {
			f.Close()
		}
	})
}
