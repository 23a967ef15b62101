package pool

import (
	"os"
	"testing"

	"github.com/rdapq/rdapq/internal/testrun"
)

func TestMain(m *testing.M) { os.Exit(testrun.Main(m)) }
