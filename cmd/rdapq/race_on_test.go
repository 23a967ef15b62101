//go:build race

package main

// raceDetector says that the command is built with the race detector, which takes
// several times the memory.
const raceDetector = true
