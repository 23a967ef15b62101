package client

import (
	"sync"
	"time"

	"github.com/rdapq/rdapq/rdap"
)

// helps remembers what servers have made known, by their base URLs, and who is
// being asked.
type helps struct {
	mu     sync.Mutex
	known  map[string]*rdap.Help
	claims map[string]claim
}

// A claim is the help of a server being asked for, or that having failed lately.
type claim struct {
	at     time.Time
	failed bool
}

const (
	// helpPause is after what time a search looks again whether the help has come
	// that another one asks for.
	helpPoll = 20 * time.Millisecond
	// helpPatience bounds how long that is waited for: whoever asks may have been
	// given up.
	claimTTL = 5 * time.Second
)

// claim reports whether the caller is to ask for the help of a server. If not,
// somebody else does. One that failed is asked for by all who need it: they would
// wait for each other's failures.
func (k *helps) claim(base string, now time.Time) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, ok := k.known[base]; ok {
		return false // it came since the caller looked
	}
	if c, ok := k.claims[base]; ok && now.Sub(c.at) < claimTTL {
		return c.failed
	}
	if k.claims == nil {
		k.claims = make(map[string]claim)
	}
	if len(k.claims) >= maxHelps {
		clear(k.claims)
	}
	k.claims[base] = claim{at: now}
	return true
}

// failed tells that asking for the help of a server came to nothing.
func (k *helps) failed(base string, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, ok := k.claims[base]; ok {
		k.claims[base] = claim{now, true}
	}
}

// maxHelps bounds what is remembered.
const maxHelps = 256

func (k *helps) get(base string) (*rdap.Help, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	h, ok := k.known[base]
	return h, ok
}

func (k *helps) put(base string, h *rdap.Help) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.known == nil {
		k.known = make(map[string]*rdap.Help)
	}
	if len(k.known) >= maxHelps {
		clear(k.known)
	}
	k.known[base] = h
	delete(k.claims, base)
}
