package pool

import (
	"context"
	"net/netip"
)

// SetLookup replaces the resolver of a Pool that has not been used yet.
func (p *Pool) SetLookup(f func(ctx context.Context, network, host string) ([]netip.Addr, error)) {
	p.dialer.names.lookup = f
}
