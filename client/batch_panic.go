package client

import (
	"runtime"
	"sync"
)

// panicked keeps what ended a goroutine of a batch, for the loop over its results.
type panicked struct {
	once     sync.Once
	happened chan struct{} // closed when there is something
	value    any           // of the panic; nil: the goroutine called runtime.Goexit
	ok       bool          // the sequence returned
}

// noteReturned notes that the sequence has returned, before catch is called.
func (p *panicked) noteReturned() { p.ok = true }

// catch is to be deferred in the goroutine that calls the sequence.
func (p *panicked) catch() {
	if v := recover(); v != nil || !p.ok {
		p.set(v)
	}
}

// set notes a panic. Only the first one counts.
func (p *panicked) set(v any) {
	p.once.Do(func() {
		p.value = v
		close(p.happened)
	})
}

// repanic panics as the goroutine did, or ends this one as it did.
func (p *panicked) repanic() {
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
