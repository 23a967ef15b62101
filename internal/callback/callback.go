// Package callback marks calls of user code. A function that waits for such calls uses the
// marks to detect that user code called it. The function then does not wait for itself.
package callback

import "runtime"

const do = "github.com/rdapq/rdapq/internal/callback.Do"

// Do calls f, which calls user code.
//
//go:noinline
func Do(f func()) { f() }

// Running reports whether the calling goroutine is inside [Do]. It walks the stack, so
// use it only in functions that are called rarely, such as Close.
func Running() bool {
	pcs := make([]uintptr, 64)
	for {
		n := runtime.Callers(2, pcs)
		if n == 0 {
			return false
		}
		frames := runtime.CallersFrames(pcs[:n])
		for {
			frame, more := frames.Next()
			if frame.Function == do {
				return true
			}
			if !more {
				break
			}
		}
		if n < len(pcs) {
			return false
		}
		pcs = make([]uintptr, 4*len(pcs))
	}
}
