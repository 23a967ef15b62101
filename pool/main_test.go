package pool

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/rdapq/rdapq/internal/testrun"
)

// No goroutine outlives the tests, except those of net/http that wait for the lock of an HTTP/2
// connection forever: TestLockedClientConn and others make a server cause that.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(tests{m}, goleak.IgnoreTopFunction("internal/sync.runtime_SemacquireMutex"))
}

// tests runs like testrun.Main.
type tests struct{ *testing.M }

func (t tests) Run() int { return testrun.Main(t.M) }
