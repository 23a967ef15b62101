//go:build unix

package pool_test

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/rdapq/rdapq/pool"
)

// OpenOriginFile must not open a pipe, because that would block forever without a writer.
func TestOriginFileIsPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hosts")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	if _, err := pool.OpenOriginFile(path); err == nil {
		t.Error("a pipe is taken for a file")
	}
}
