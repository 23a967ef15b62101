package pool

import "slices"

// maxOrigins is how many origins a Pool remembers before it forgets those that
// nobody is using: more than there are registries and registrars, and few enough
// for a server that redirects each request to a host of its own, and for a list
// of a million hosts. What was learned of them is with the facts and sessions.
const maxOrigins = 4096

// sweepLocked forgets origins if there are many: those without connections, and
// if that is not half of them those whose connections are idle. The lock of the
// Pool is held.
func (p *Pool) sweepLocked() {
	if len(p.origins) < p.sweepAt {
		return
	}
	for _, idle := range []bool{false, true} {
		if idle && len(p.origins) <= maxOrigins/2 {
			break
		}
		for key, o := range p.origins {
			if o.users.Load() > 0 || !o.retire(idle) {
				continue
			}
			o.mu.Lock()
			p.gone.add(o.stats.snapshot())
			o.mu.Unlock()
			p.dropLocked(key)
			p.distrustLocked(o)
			p.dialer.tls.forget(key)
		}
	}
	p.sweepAt = max(maxOrigins, 2*len(p.origins))
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

// retire reports whether nothing is under way at an origin, and there are no
// connections to it or, if idle ones may go, none any more.
func (o *origin) retire(idle bool) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.queue)+len(o.dials) > 0 || o.race != nil {
		return false
	}
	for _, c := range o.conns {
		if c.inflight > 0 || !idle {
			return false
		}
	}
	for len(o.conns) > 0 {
		o.remove(o.conns[0], ClosedIdle)
	}
	return len(o.stats.alive) == 0
}
