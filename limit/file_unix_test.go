//go:build unix

package limit

import (
	"path/filepath"
	"syscall"
	"testing"
)

// Opening a pipe without a writer would block.
func TestFileIsNoPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "budgets")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	if _, err := OpenFile(path); err == nil {
		t.Error("OpenFile accepts a pipe")
	}
}
