// Package repanic repeats the panic of one goroutine in another one, whose caller can recover
// it.
package repanic

import (
	"runtime"
	"sync"
)

// A Recorder records the first panic of some goroutines. It is safe for concurrent use, except
// Catch and NoteReturned, which are for one goroutine.
type Recorder struct {
	once     sync.Once
	happened chan struct{} // closed when there was a panic
	value    any           // value of the panic; nil after a call of runtime.Goexit
	ok       bool          // NoteReturned was called
}

// NewRecorder returns a Recorder without a panic.
func NewRecorder() *Recorder { return &Recorder{happened: make(chan struct{})} }

// Happened returns a channel that is closed when there was a panic.
func (p *Recorder) Happened() <-chan struct{} { return p.happened }

// NoteReturned records that the function of the goroutine has returned. It must be called before Catch.
func (p *Recorder) NoteReturned() { p.ok = true }

// Catch records a panic or a call of Goexit. The goroutine that calls the function must defer
// Catch.
func (p *Recorder) Catch() {
	if v := recover(); v != nil || !p.ok {
		p.Set(v)
	}
}

// Set records a panic. Only the first panic counts.
func (p *Recorder) Set(v any) {
	p.once.Do(func() {
		p.value = v
		close(p.happened)
	})
}

// Repanic panics with the value of the goroutine, or calls Goexit if it did.
func (p *Recorder) Repanic() {
	select {
	case <-p.happened:
	default:
		return
	}
	if p.value == nil {
		runtime.Goexit()
	}
	panic(p.value)
}
