//go:build unix

package limit

import (
	"path/filepath"
	"syscall"
	"testing"
)

// OpenFile must not open a pipe, because that would block without a writer.
func TestFileIsNoPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "budgets")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	if _, err := OpenFile(path); err == nil {
		t.Error("OpenFile accepts a pipe")
	}
}
