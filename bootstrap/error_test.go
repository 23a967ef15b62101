package bootstrap_test

import (
	"strings"
	"testing"

	"github.com/rdapq/rdapq/bootstrap"
)

// Other resolvers may create these errors with some fields unset.
func TestErrorsWithUnsetFields(t *testing.T) {
	for _, err := range []error{
		&bootstrap.HTTPOnlyError{Looked: ".zz"},
		&bootstrap.NoServiceError{Looked: ".zz"},
	} {
		if text := err.Error(); !strings.Contains(text, ".zz") {
			t.Errorf("%T: %q", err, text)
		}
	}
}
