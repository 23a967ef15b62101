//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package pool_test

import "testing"

func takeDescriptors(t *testing.T, _ int) {
	t.Helper()
	t.Skip("no RLIMIT_NOFILE")
}
