package main

import (
	"os"

	"golang.org/x/sys/windows"
)

// supportsEscapes reports whether a terminal knows the escape sequences that draw
// over lines. Consoles have to be told to.
func supportsEscapes(f *os.File) bool {
	var mode uint32
	h := windows.Handle(f.Fd())
	if windows.GetConsoleMode(h, &mode) != nil {
		return false
	}
	return windows.SetConsoleMode(h, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) == nil
}
