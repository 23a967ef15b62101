//go:build !windows

package main

import "os"

// supportsEscapes reports whether a terminal knows the escape sequences that draw
// over lines.
func supportsEscapes(*os.File) bool { return true }
