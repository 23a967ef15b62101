package client

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/rdapq/rdapq/internal/testrun"
)

// No goroutine outlives the tests.
func TestMain(m *testing.M) { goleak.VerifyTestMain(tests{m}) }

// tests runs like testrun.Main.
type tests struct{ *testing.M }

func (t tests) Run() int { return testrun.Main(t.M) }
