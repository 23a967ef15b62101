package rdaptest

import (
	"context"
	"maps"
	"net"
	"net/netip"
	"strconv"
	"time"
)

// OfferH3 starts HTTP/3 for the servers of a [Demo], each on its own port. Clients reach these
// ports on loopback by host name and port, not by [Demo.DialContext]; see H3Registries and
// H3Addresses. Call OfferH3 once, before the first request.
func (d *Demo) OfferH3() error {
	ports := make(map[string]string)
	for i := range d.servers {
		s := &d.servers[i]
		h, err := s.server.startH3(H3Config{Addr: "127.0.0.1:0", RTT: d.rtt})
		if err != nil {
			return err
		}
		s.h3 = h
		ports[s.name] = strconv.Itoa(h.udp.LocalAddr().(*net.UDPAddr).Port)
	}
	d.h3Files = demoRegistries(demoSites(), func(host string) string { return net.JoinHostPort(host, ports[host]) })
	return nil
}

// H3Registries returns the bootstrap files with the HTTP/3 ports of the servers.
func (d *Demo) H3Registries() map[string][]byte { return maps.Clone(d.h3Files) }

// H3Addresses returns the HTTP/3 addresses of the servers, by host and port.
func (d *Demo) H3Addresses() map[string][]netip.Addr {
	out := make(map[string][]netip.Addr)
	for _, s := range d.servers {
		at := s.h3.udp.LocalAddr().(*net.UDPAddr).AddrPort()
		out[net.JoinHostPort(s.name, strconv.Itoa(int(at.Port())))] = []netip.Addr{at.Addr().Unmap()}
	}
	return out
}

// H3Counts returns the total counts of all servers over HTTP/3.
func (d *Demo) H3Counts() H3Counts {
	var total H3Counts
	for _, s := range d.servers {
		if s.h3 == nil {
			continue
		}
		n := s.h3.Counts()
		total.Counts = total.Add(n.Counts)
		total.EarlyAccepted += n.EarlyAccepted
		total.EarlyRejected += n.EarlyRejected
	}
	return total
}

// closeAfterClients closes h after it has read the CONNECTION_CLOSE of its clients, whose
// handshakes would otherwise count as failed. It does not wait long for other clients.
func (h *H3) closeAfterClients() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = h.AwaitOpen(ctx, 0) // Close closes the remaining connections
	h.Close()
}

// DemoQueries returns up to 163 names that exist in a [Demo], from two registries in turn.
func DemoQueries(n int) []string {
	re, fr := demoNames("re"), demoNames("fr")
	var out []string
	for i := range re {
		out = append(out, re[i])
		if i < len(fr) {
			out = append(out, fr[i])
		}
	}
	return out[:min(n, len(out))]
}
