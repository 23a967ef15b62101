package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// How long lookups in flight may take to finish once a run is to end.
const (
	drainGrace   = 10 * time.Second // after a first signal
	maxTimeGrace = 2 * time.Second  // after --max-time
	// forceGrace is how long the process may take after that, or where nothing
	// is to be finished. Nothing should need it, but a process that was told to
	// end must end, whatever it waits for.
	forceGrace = 5 * time.Second
)

// errMaxTime is the cause of a context that --max-time ended.
var errMaxTime = errors.New("the time of --max-time is over")

// An interrupt ends a run early: at SIGHUP, SIGINT, SIGTERM, or after --max-time.
// The first of these cancels the context at once, or lets the run finish the
// lookups in flight if it has registered with onStop; a second signal kills the
// process as usual. SIGINT and SIGHUP that were ignored when the process began
// stay ignored: a shell keeps a Ctrl-C from background jobs that way, and nohup a
// hangup.
type interrupt struct {
	cancel context.CancelCauseFunc
	exit   func(code int) // os.Exit; another one in tests

	mu      sync.Mutex
	sig     os.Signal // the first one
	expired bool      // --max-time is over
	drain   func()    // nil: nothing is to be finished
	forced  *time.Timer
}

// watchSignals returns a context that a signal ends. stop ends the watch.
func watchSignals(parent context.Context) (ctx context.Context, i *interrupt, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	i = &interrupt{cancel: cancel, exit: os.Exit}
	ch := make(chan os.Signal, 1)
	watched := make(chan struct{})
	signal.Notify(ch, watchedSignals()...)
	go func() {
		select {
		case sig := <-ch:
			signal.Stop(ch)
			i.arrived(sig)
		case <-watched:
		}
	}()
	return ctx, i, func() {
		signal.Stop(ch)
		close(watched)
		cancel(nil)
		i.mu.Lock()
		defer i.mu.Unlock()
		if i.forced != nil {
			i.forced.Stop()
		}
	}
}

func watchedSignals() []os.Signal {
	signals := []os.Signal{syscall.SIGTERM}
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGHUP} {
		if !signal.Ignored(sig) {
			signals = append(signals, sig)
		}
	}
	return signals
}

func (i *interrupt) arrived(sig os.Signal) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.sig = sig
	i.begin(drainGrace, context.Canceled)
}

// within ends the run after d, as a signal does.
func (i *interrupt) stopAfter(d time.Duration) {
	time.AfterFunc(d, func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.expired = true
		i.begin(maxTimeGrace, errMaxTime)
	})
}

// begin lets what is in flight finish, in bounded time.
func (i *interrupt) begin(grace time.Duration, cause error) {
	if i.drain == nil {
		grace = 0
		i.cancel(cause)
	} else {
		go i.drain()
		time.AfterFunc(grace, func() { i.cancel(cause) })
	}
	if i.forced == nil {
		i.forced = time.AfterFunc(grace+forceGrace, func() { i.exit(i.code()) })
	}
}

// onStop has drain called when the run is to end early, in place of the end of
// the context, or at once if that has come.
func (i *interrupt) onStop(drain func()) {
	if i == nil { // nobody watches
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.drain = drain
	switch {
	case i.sig != nil:
		i.begin(drainGrace, context.Canceled)
	case i.expired:
		i.begin(maxTimeGrace, errMaxTime)
	}
}

// early reports whether the run was told to end before it was done.
func (i *interrupt) early() bool {
	if i == nil {
		return false
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.sig != nil || i.expired
}

// code returns the exit code of a run that was told to end early: 128 and the
// number of the first signal, or that of lookups without a response.
func (i *interrupt) code() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	if sig, ok := i.sig.(syscall.Signal); ok {
		return 128 + int(sig)
	}
	return exitSomeFail
}
