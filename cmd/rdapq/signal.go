package main

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// drainGrace is how long lookups under way may take after a first signal.
const drainGrace = 10 * time.Second

// An interrupt is what SIGINT and SIGTERM do. The first one ends the run at
// once, or lets it finish what it is at if it wants to; the second one kills
// the process as usual. SIGINT that was ignored when the process began stays so:
// that is how a shell keeps a Ctrl-C from what it runs in the background.
type interrupt struct {
	cancel context.CancelFunc

	mu    sync.Mutex
	sig   os.Signal // the first one
	drain func()    // nil: nothing is to be finished
}

// watchSignals returns a context that a signal ends. stop ends the watch.
func watchSignals(parent context.Context) (ctx context.Context, i *interrupt, stop func()) {
	ctx, cancel := context.WithCancel(parent)
	i = &interrupt{cancel: cancel}
	ch := make(chan os.Signal, 1)
	signal.Notify(ch, heeded()...)
	go func() {
		select {
		case sig := <-ch:
			signal.Stop(ch)
			i.arrived(sig)
		case <-ctx.Done():
		}
	}()
	return ctx, i, func() { signal.Stop(ch); cancel() }
}

func heeded() []os.Signal {
	if signal.Ignored(os.Interrupt) {
		return []os.Signal{syscall.SIGTERM}
	}
	return []os.Signal{os.Interrupt, syscall.SIGTERM}
}

func (i *interrupt) arrived(sig os.Signal) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.sig = sig
	if i.drain == nil {
		i.cancel()
		return
	}
	i.begin()
}

// begin lets what is under way finish, in bounded time.
func (i *interrupt) begin() {
	i.drain()
	time.AfterFunc(drainGrace, i.cancel)
}

// onFirst has drain called when the first signal comes, in place of the end of
// the context, or at once if it has come.
func (i *interrupt) onFirst(drain func()) {
	if i == nil { // nobody watches
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.drain = drain
	if i.sig != nil {
		i.begin()
	}
}

// signal returns the first signal, nil before it comes.
func (i *interrupt) signal() os.Signal {
	if i == nil {
		return nil
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.sig
}
