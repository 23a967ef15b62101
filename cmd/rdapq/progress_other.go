//go:build !windows

package main

import "os"

// supportsEscapes reports whether a terminal supports cursor escape sequences.
func supportsEscapes(*os.File) bool { return true }
