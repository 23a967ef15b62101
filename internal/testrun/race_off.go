//go:build !race

package testrun

// RaceDetector says whether the test was built with -race.
const RaceDetector = false
