// Package testrun decides which tests run, and how many at a time.
package testrun

import (
	"flag"
	"os"
	"runtime/debug"
	"strconv"
	"testing"
	"testing/synctest"
)

// waiting is the number of parallel tests of a package that run at a time if they mostly wait.
const waiting = "16"

// Main runs the tests of a package whose parallel tests mostly wait, and returns the exit code.
// The flag -parallel overrides the number of tests that run at a time. Go's default, the number
// of CPUs, would make the tests wait for each other.
//
// The garbage collector runs less often, unless the variable GOGC is set. With the default, the
// small heap of a test would be collected many times per second.
func Main(m *testing.M) int {
	More()
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	return m.Run()
}

// More sets -parallel as [Main] does, for a TestMain that does not call Main.
func More() {
	if err := flag.Set("test.parallel", waiting); err != nil {
		panic(err) // every test binary has this flag
	}
}

// SkipWithRaceDetector skips a test of memory, or a test that work grows no faster than its
// input. The race detector takes several times the memory and CPU time, and has no benefit for
// sequential work. .ci/run has a step for these tests.
func SkipWithRaceDetector(tb testing.TB) {
	tb.Helper()
	if RaceDetector {
		tb.Skip("runs only without the race detector")
	}
}

// Bubble runs a test with connections of a rdaptest.Network in a bubble of testing/synctest.
// With the race detector it skips the test, because many timers and channels in a bubble may
// crash the detector ("ThreadSanitizer: CHECK failed", golang/go#78156). .ci/run has a step for
// these tests.
func Bubble(t *testing.T, f func(*testing.T)) {
	t.Helper()
	if RaceDetector {
		t.Skip("the race detector may crash in a bubble (golang/go#78156)")
	}
	synctest.Test(t, f)
}

// Env returns the size of a test: the number in an environment variable, which make long sets,
// or usual if the variable is not set.
func Env(tb testing.TB, name string, usual int) int {
	tb.Helper()
	text := os.Getenv(name)
	if text == "" {
		return usual
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		tb.Fatalf("%s=%q, want a positive number", name, text)
	}
	return n
}
