package gate

import (
	"maps"
	"net"
	"slices"
)

// Unmatched returns the keys of rates and groups that apply to no host so far,
// in the spelling of hosts and sorted.
func (hs *Hosts) Unmatched() []string {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	return slices.Sorted(maps.Keys(hs.unmatched))
}

// expectKeys records the keys of cfg as unmatched.
func (hs *Hosts) expectKeys(cfg Config) {
	hs.unmatched = make(map[string]bool)
	for name := range cfg.Rates {
		hs.unmatched[hostKey(name)] = true
	}
	for name := range cfg.Groups {
		hs.unmatched[hostKey(name)] = true
	}
}

// match records that the keys of a host and its group apply.
func (hs *Hosts) match(host, group string) {
	if len(hs.unmatched) == 0 {
		return
	}
	for _, key := range []string{host, group} {
		delete(hs.unmatched, key)
		if name, _, err := net.SplitHostPort(key); err == nil {
			delete(hs.unmatched, name)
		}
	}
}
