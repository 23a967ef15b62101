//go:build race

package main

// raceDetector reports whether the command is built with the race detector, which needs
// several times the memory.
const raceDetector = true
