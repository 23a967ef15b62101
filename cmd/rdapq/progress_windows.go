package main

import (
	"os"

	"golang.org/x/sys/windows"
)

// supportsEscapes enables cursor escape sequences on a console and reports whether it
// supports them.
func supportsEscapes(f *os.File) bool {
	var mode uint32
	h := windows.Handle(f.Fd())
	if windows.GetConsoleMode(h, &mode) != nil {
		return false
	}
	return windows.SetConsoleMode(h, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) == nil
}
