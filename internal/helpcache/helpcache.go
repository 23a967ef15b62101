// Package helpcache remembers the help of servers, and lets one search at a time fetch it.
// It must not send requests.
package helpcache

import (
	"sync"
	"time"

	"github.com/rdapq/rdapq/rdap"
)

// A Cache holds the help of servers by their base URLs, and records which help is being
// fetched. The zero value is empty. It is safe for concurrent use.
type Cache struct {
	mu     sync.Mutex
	known  map[string]*rdap.Help
	claims map[string]claim
}

// A claim records that a server's help is being fetched, or recently failed.
type claim struct {
	at     time.Time
	failed bool
}

// Poll is the interval at which a search checks for the help that another search is fetching.
const Poll = 20 * time.Millisecond

// claimTTL limits the wait for help, because the caller of the other search may have given up.
const claimTTL = 5 * time.Second

// Claim reports whether the caller has to fetch the help of a server. If it returns false,
// another search is fetching the help. After a failure all callers fetch it, so that no caller
// waits for the failures of others.
func (k *Cache) Claim(base string, now time.Time) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, ok := k.known[base]; ok {
		return false // the help arrived after the caller had checked
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

// Failed records that the help of a server could not be fetched.
func (k *Cache) Failed(base string, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, ok := k.claims[base]; ok {
		k.claims[base] = claim{now, true}
	}
}

// maxHelps limits the number of cached help responses, and the number of claims.
const maxHelps = 256

// Get returns the help of a server, which may be nil, and whether it is known.
func (k *Cache) Get(base string) (*rdap.Help, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	h, ok := k.known[base]
	return h, ok
}

// Put stores the help of a server. Nil means that the server announces nothing.
func (k *Cache) Put(base string, h *rdap.Help) {
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
