package pool

import (
	"slices"
	"time"
)

// maxOrigins is how many origins a Pool remembers before it forgets those that
// nobody is using: more than there are registries and registrars, and few enough
// for a server that redirects each request to a host of its own, and for a list
// of a million hosts. What was learned of them is with the facts and sessions.
const maxOrigins = 4096

// maxNewOrigins is how many origins a Pool remembers whole whose connections carried
// one request each. Of the others it remembers the counts.
const maxNewOrigins = 1024

// A originSummary is what is remembered of an origin that was of no more use.
type originSummary struct {
	stats     originStats
	protocol  string
	evictedAt time.Time // as of the origin
}

// sweepLocked forgets origins if there are many: first those without connections
// about which there is nothing to know but counts; then, if there are too many all the
// same, those without connections; and if that is not half of them, those whose
// connections are idle. The lock of the Pool is held.
func (p *Pool) sweepLocked() {
	if len(p.origins) < p.sweepAt {
		return
	}
	for key, o := range p.origins {
		if o.users.Load() == 0 && o.isNew() && o.retire(false) {
			o.mu.Lock()
			past := &originSummary{stats: o.stats, protocol: o.proto, evictedAt: o.evictedAt}
			o.mu.Unlock()
			name := key.String()
			if old := p.summaries[name]; old != nil {
				past.stats.merge(&old.stats)
			}
			p.summaries[name] = past
			p.forgetLocked(key, o)
		}
	}
	if len(p.origins) >= maxOrigins {
		for _, idle := range []bool{false, true} {
			if idle && len(p.origins) <= maxOrigins/2 {
				break
			}
			for key, o := range p.origins {
				if o.users.Load() > 0 || !o.retire(idle) {
					continue
				}
				o.mu.Lock()
				p.forgotten.add(o.stats.snapshot())
				o.mu.Unlock()
				p.forgetLocked(key, o)
			}
		}
	}
	p.sweepAt = len(p.origins) + maxNewOrigins
	if len(p.summaries)+p.sweepAt > maxOrigins {
		for _, past := range p.summaries {
			p.forgotten.add(past.stats.snapshot())
		}
		clear(p.summaries)
	}
}

func (p *Pool) forgetLocked(key originKey, o *origin) {
	p.dropLocked(key)
	p.saveFaultsLocked(o)
	p.dialer.tls.forget(key)
}

// dropLocked forgets an origin. The lock of the Pool is held.
func (p *Pool) dropLocked(key originKey) {
	o, name := p.origins[key], key.String()
	delete(p.origins, key)
	rest := slices.DeleteFunc(slices.Clone(p.servers[name]), func(x *origin) bool { return x == o })
	if p.servers[name] = rest; len(rest) == 0 {
		delete(p.servers, name)
	}
}

// A originFaults is what is remembered of an origin that was swept.
type originFaults struct {
	abandoned int
	onlyHTTP1 bool
}

// maxFaults bounds the origins of which that is remembered.
const maxFaults = 4096

// saveFaultsLocked keeps what o has shown. The Pool is locked, o is not used.
func (p *Pool) saveFaultsLocked(o *origin) {
	d := originFaults{o.abandoned, o.onlyHTTP1.Load()}
	if d == (originFaults{}) || len(p.faults) >= maxFaults {
		return
	}
	if p.faults == nil {
		p.faults = make(map[originKey]originFaults)
	}
	p.faults[o.key] = d
}

// restoreFaultsLocked starts an origin with what an earlier one has shown. The Pool is
// locked.
func (p *Pool) restoreFaultsLocked(o *origin) {
	d, ok := p.faults[o.key]
	if !ok {
		return
	}
	delete(p.faults, o.key)
	o.abandoned = d.abandoned
	if d.onlyHTTP1 {
		o.requireHTTP1Locked()
	}
}
