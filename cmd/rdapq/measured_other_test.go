//go:build !linux

package main

import "os"

// measured is for tests that run on Linux only.
func measured() { os.Exit(exitNoRun) }
