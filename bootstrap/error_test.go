package bootstrap_test

import (
	"strings"
	"testing"

	"github.com/rdapq/rdapq/bootstrap"
)

// Resolvers of others may make these errors, and not fill in all of them.
func TestErrorsWithLittleInThem(t *testing.T) {
	for _, err := range []error{
		&bootstrap.HTTPOnlyError{Looked: ".zz"},
		&bootstrap.NoServiceError{Looked: ".zz"},
	} {
		if text := err.Error(); !strings.Contains(text, ".zz") {
			t.Errorf("%T: %q", err, text)
		}
	}
}
