//go:build !race

package testrun

// RaceDetector reports whether the test was built with -race.
const RaceDetector = false
