package pool

import "sync"

// maxNotices bounds the notices that wait while a function of the user's does
// not return. What comes then is dropped.
const maxNotices = 1024

// Notices call [Config.OnEvent] and [Config.Logger], which belong to the user:
// in order, one at a time, and under no lock, so that one that blocks holds up
// nothing else.
type notices struct {
	mu      sync.Mutex
	queue   []func()
	running bool
	idle    chan struct{} // closed when running ends
}

// add has f called.
func (n *notices) add(f func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.queue) >= maxNotices {
		return
	}
	n.queue = append(n.queue, f)
	if !n.running {
		n.running, n.idle = true, make(chan struct{})
		go n.run()
	}
}

func (n *notices) run() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for len(n.queue) > 0 {
		all := n.queue
		n.queue = nil
		n.mu.Unlock()
		for _, f := range all {
			f()
		}
		n.mu.Lock()
	}
	n.running = false
	close(n.idle)
}

// wait returns when all have been called.
func (n *notices) wait() {
	n.mu.Lock()
	idle, running := n.idle, n.running
	n.mu.Unlock()
	if running {
		<-idle
	}
}

// debug logs for an origin.
func (o *origin) debug(message string, args ...any) {
	if !o.p.quiet {
		logger := o.p.cfg.Logger
		args = append([]any{"origin", o.key.String()}, args...)
		o.p.notices.add(func() { logger.Debug(message, args...) })
	}
}
