// Package inuse counts the users of something that has to end when all of them have left.
package inuse

import "sync"

// A Counter counts users. The zero value has none, and admits users.
type Counter struct {
	mu   sync.Mutex
	n    int
	idle chan struct{} // closed when n is 0 after Shut; nil before Shut
}

// Enter counts a user until Leave. It returns false after Shut.
func (u *Counter) Enter() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.idle != nil {
		return false
	}
	u.n++
	return true
}

// Leave ends what Enter began.
func (u *Counter) Leave() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.n--; u.n == 0 && u.idle != nil {
		close(u.idle)
	}
}

// Shut refuses further users. It returns a channel that is closed when the last one has left.
func (u *Counter) Shut() <-chan struct{} {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.idle == nil {
		if u.idle = make(chan struct{}); u.n == 0 {
			close(u.idle)
		}
	}
	return u.idle
}

// IsShut reports whether Shut was called.
func (u *Counter) IsShut() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.idle != nil
}
