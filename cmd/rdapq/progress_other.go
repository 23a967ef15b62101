//go:build !windows

package main

import "os"

// obeysEscapes reports whether a terminal knows the escape sequences that draw
// over lines.
func obeysEscapes(*os.File) bool { return true }
