package client

import (
	"sync"
	"time"

	"github.com/rdapq/rdapq/rdap"
)

// helps caches the help of servers by their base URLs, and which help is being fetched.
type helps struct {
	mu     sync.Mutex
	known  map[string]*rdap.Help
	claims map[string]claim
}

// A claim records that a server's help is being fetched, or recently failed.
type claim struct {
	at     time.Time
	failed bool
}

const (
	// helpPoll is the interval at which a search checks for the help that another
	// one is fetching.
	helpPoll = 20 * time.Millisecond
	// claimTTL limits that wait: the caller of the other search may have given up.
	claimTTL = 5 * time.Second
)

// claim reports whether the caller has to fetch the help of a server. If not, another
// search is fetching it. After a failure all callers fetch it, so that they do not wait
// for each other's failures.
func (k *helps) claim(base string, now time.Time) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, ok := k.known[base]; ok {
		return false // it arrived since the caller checked
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

// failed records that the help of a server could not be fetched.
func (k *helps) failed(base string, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, ok := k.claims[base]; ok {
		k.claims[base] = claim{now, true}
	}
}

// maxHelps limits the cached helps and the claims.
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
