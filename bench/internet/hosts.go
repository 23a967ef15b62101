//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"
)

// A quirk is the special behaviour of a server.
type quirk string

const (
	plain      quirk = "plain"
	quotaTold  quirk = "20 per 2 s, Retry-After"
	quotaMute  quirk = "60 per 6 s, no Retry-After"
	flaky      quirk = "1 % 503"
	wafNow     quirk = "1% 403 in HTML"
	wafRate    quirk = "403 in HTML above 30 per s"
	muteRate   quirk = "429 above 50 per s, no Retry-After"
	penalty    quirk = "20 per 2 s, 15 s penalty"
	wafAlways  quirk = "403 in HTML always"
	dead       quirk = "never responds"
	largeShare       = 0.02 // share of all lines above which a host has no quirk, so that limits are meaningful
)

// A profile describes the behaviour of a host.
type profile struct {
	Host    string
	HTTP1   bool
	CloseAt int // number of requests after which a connection is closed; 0 means never
	Latency time.Duration
	Quirk   quirk
}

// quota returns the number of requests that a host allows in a period, or 0 without a limit.
func (p *profile) quota() (n int, period time.Duration) {
	switch p.Quirk {
	case quotaTold, penalty:
		return 20, 2 * time.Second
	case quotaMute:
		return 60, 6 * time.Second
	case wafRate:
		return 30, time.Second
	case muteRate:
		return 50, time.Second
	}
	return 0, 0
}

// dies reports whether lookups at the host may fail.
func (p *profile) dies() bool { return p.Quirk == dead || p.Quirk == wafAlways }

// least returns the minimum time for n lookups at the host.
func (p *profile) least(n int) time.Duration {
	if n == 0 || p.dies() {
		return 0
	}
	parallel := 64.0
	if p.HTTP1 {
		parallel = 4
	}
	bound := time.Duration(float64(n) * float64(p.Latency) / parallel)
	if quota, period := p.quota(); quota > 0 {
		bound = max(bound, time.Duration((float64(n)/float64(quota)-1)*float64(period)))
	}
	return max(bound, p.Latency)
}

// profileOf derives the behaviour of a host from its name. Each host has a latency of 15 to 195
// ms. One in 8 uses HTTP/1.1, and half of these close a connection after 100 requests. One in 8
// allows 20 requests in 2 s and sends Retry-After, and one in 16 allows 60 in 6 s without
// Retry-After. Some of the other hosts sometimes fail or refuse, limit in another way, or never
// respond. A host with a large share of all lines is only slow.
func profileOf(host string, share float64) profile {
	f := fnv.New64a()
	f.Write([]byte(host))
	h := f.Sum64()
	h ^= h >> 29 // FNV alone mixes the low bits poorly
	p := profile{Host: host, Latency: 15*time.Millisecond + time.Duration(h>>8%181)*time.Millisecond, Quirk: plain}
	if share >= largeShare {
		return p
	}
	if h%8 == 0 {
		p.HTTP1 = true
		if h>>3%2 == 0 {
			p.CloseAt = 100
		}
	}
	switch h >> 20 % 64 {
	case 0, 1, 2, 3, 4, 5, 6, 7:
		p.Quirk = quotaTold
	case 8, 9, 10, 11:
		p.Quirk = quotaMute
	case 12, 13, 14, 15:
		p.Quirk = flaky
	case 16, 17:
		p.Quirk = wafNow
	case 18, 19:
		p.Quirk = wafRate
	case 20, 21:
		p.Quirk = muteRate
	case 22, 23:
		p.Quirk = penalty
	case 24:
		p.Quirk = wafAlways
	case 25:
		p.Quirk = dead
	}
	return p
}

// A world holds all hosts and their TLDs.
type world struct {
	TLDs     []string            // TLDs in the order of IANA's file
	HostOf   map[string]string   // host by TLD
	Profiles map[string]*profile // profile by host
}

// readWorld reads the snapshot of IANA's files.
func readWorld(path string) (*world, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%w (run it in the top directory of the module, or name the file with -snapshot)", err)
	}
	var snapshot struct {
		Registries struct {
			DNS struct{ Services [][][]string }
		}
	}
	if err := json.Unmarshal(data, &snapshot); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	w := &world{HostOf: make(map[string]string), Profiles: make(map[string]*profile)}
	for _, s := range snapshot.Registries.DNS.Services {
		i := slices.IndexFunc(s[1], func(u string) bool { return strings.HasPrefix(u, "https://") })
		if i < 0 {
			continue
		}
		u, err := url.Parse(s[1][i])
		if err != nil {
			return nil, err
		}
		for _, tld := range s[0] {
			w.TLDs = append(w.TLDs, tld)
			w.HostOf[tld] = strings.ToLower(u.Hostname())
		}
	}
	for _, host := range w.HostOf {
		share := 0.0
		for tld, weight := range weights {
			if w.HostOf[tld] == host {
				share += weight
			}
		}
		p := profileOf(host, share)
		w.Profiles[host] = &p
	}
	return w, nil
}

const dnsAddress = "11.255.255.53"

// addressOf returns the address of a host. The address is public, because rdapq accepts no
// private addresses from bootstrap files.
func addressOf(host string) netip.Addr {
	f := fnv.New32a()
	f.Write([]byte(host))
	h := f.Sum32()
	return netip.AddrFrom4([4]byte{11, byte(h>>16) % 255, byte(h >> 8), byte(h)})
}

// bound returns the slowest host and its minimum time.
func (w *world) bound(lines map[string]int) (host string, least time.Duration) {
	least = -1
	for h, n := range lines {
		if d := w.Profiles[h].least(n); d > least || d == least && h < host {
			host, least = h, d
		}
	}
	return host, least
}

// ratio returns a/b, rounded to two decimals.
func ratio(a, b time.Duration) float64 { return math.Round(float64(a)/float64(b)*100) / 100 }
