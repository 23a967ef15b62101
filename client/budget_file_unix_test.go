//go:build unix

package client_test

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/rdapq/rdapq/client"
)

// Opening a pipe that nobody writes to would take for ever.
func TestBudgetFileIsNoPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "budgets")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	if _, err := client.OpenBudgetFile(path); err == nil {
		t.Error("a pipe is taken for a file")
	}
}
