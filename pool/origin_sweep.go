package pool

import (
	"slices"
	"time"
)

// maxOrigins is the number of origins that a Pool remembers before it forgets unused ones.
// There are fewer registries and registrars. Learned properties stay in the stores of origins
// and sessions.
const maxOrigins = 4096

// maxNewOrigins is the number of origins that a Pool remembers in full although each of their
// connections carried one request. For further such origins, it keeps only the counts.
const maxNewOrigins = 1024

// An originSummary holds the remembered counts of a swept origin.
type originSummary struct {
	stats     originStats
	protocol  string
	evictedAt time.Time // see origin.evictedAt
}

// sweepLocked forgets origins if there are many. First it reduces origins without connections
// to their counts if it has no other information about them. If there are still too many, it
// forgets origins without connections. If more than half of maxOrigins remain, it also forgets
// origins with idle connections. The caller holds the lock of the Pool.
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

// dropLocked forgets an origin. The caller holds the lock of the Pool.
func (p *Pool) dropLocked(key originKey) {
	o, name := p.origins[key], key.String()
	delete(p.origins, key)
	rest := slices.DeleteFunc(slices.Clone(p.servers[name]), func(x *origin) bool { return x == o })
	if p.servers[name] = rest; len(rest) == 0 {
		delete(p.servers, name)
	}
}

// originFaults holds the faults of a swept origin, which are remembered.
type originFaults struct {
	abandoned int
	onlyHTTP1 bool
}

// maxFaults limits the origins whose faults are remembered.
const maxFaults = 4096

// saveFaultsLocked saves the faults of o, which is not in use. The caller holds the lock of the
// Pool.
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

// restoreFaultsLocked restores the faults of an earlier origin. The caller holds the lock of
// the Pool.
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
