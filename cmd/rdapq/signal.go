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

// Times that lookups in flight may take to finish when a run ends early.
const (
	drainGrace   = 10 * time.Second // time after the first signal
	maxTimeGrace = 2 * time.Second  // time after --max-time
	// forceGrace is how long the process may take afterwards. A process that received a signal
	// must end, even if something blocks it.
	forceGrace = 5 * time.Second
)

// errMaxTime is the cause of a context ended by --max-time.
var errMaxTime = errors.New("the time limit of --max-time has passed")

// An interrupt ends a run early: at SIGHUP, SIGINT, SIGTERM, or after --max-time. The first of
// these events cancels the context, or calls the function given to onStop, which lets lookups
// in flight finish. A second signal kills the process as usual. SIGINT and SIGHUP stay ignored
// if they were ignored at the start. Shells ignore SIGINT for background jobs, and nohup
// ignores SIGHUP.
type interrupt struct {
	cancel context.CancelCauseFunc
	exit   func(code int)                  // is os.Exit, except in tests
	after  func(d time.Duration, f func()) // calls f after d; nil means time.AfterFunc

	mu      sync.Mutex
	sig     os.Signal // first signal received
	expired bool      // the time of --max-time has passed
	drain   func()    // nil means cancel immediately
	forced  *time.Timer
}

// watchSignals returns a context that a signal ends. stop stops watching.
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

// stopAfter ends the run after d, as a signal would.
func (i *interrupt) stopAfter(d time.Duration) {
	expire := func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.expired = true
		i.begin(maxTimeGrace, errMaxTime)
	}
	if i.after != nil {
		i.after(d, expire)
		return
	}
	time.AfterFunc(d, expire)
}

// begin starts to end the run. Lookups in flight get grace to finish.
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

// onStop registers drain, to be called instead of canceling the context when the run ends
// early. If the run is already ending, onStop calls drain immediately.
func (i *interrupt) onStop(drain func()) {
	if i == nil { // nil means that no signals are watched
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

// early reports whether the run was interrupted.
func (i *interrupt) early() bool {
	if i == nil {
		return false
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.sig != nil || i.expired
}

// code returns the exit code of an interrupted run: 128 plus the number of the first
// signal, or exitSomeFail.
func (i *interrupt) code() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	if sig, ok := i.sig.(syscall.Signal); ok {
		return 128 + int(sig)
	}
	return exitSomeFail
}
