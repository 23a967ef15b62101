package client

import (
	"maps"
	"net"
	"slices"
)

// Unmatched returns those keys of Config.Rates and Config.Groups, in the spelling
// of hosts and sorted, that hold for no server which lookups, a Batch or a Plan of c
// had to do with so far: mistyped ones are among them. A key of Groups holds for its
// host, one of Rates for its host or its group.
func (c *Client) Unmatched() []string {
	c.hosts.mu.Lock()
	defer c.hosts.mu.Unlock()
	return slices.Sorted(maps.Keys(c.hosts.unmatched))
}

// expect notes the keys that are to be matched.
func (hs *hosts) expect(cfg Config) {
	hs.unmatched = make(map[string]bool)
	for name := range cfg.Rates {
		hs.unmatched[hostKey(name)] = true
	}
	for name := range cfg.Groups {
		hs.unmatched[hostKey(name)] = true
	}
}

// match notes that what is said of a host, or of its group, holds for somebody.
func (hs *hosts) match(host, group string) {
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
