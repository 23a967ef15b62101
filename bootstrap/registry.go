package bootstrap

import (
	"fmt"
	"time"

	"github.com/rdapq/rdapq/bootstrap/internal/ianafile"
)

// A Registry is one of the files that IANA publishes.
type Registry uint8

const (
	RegistryDNS        Registry = iota // servers for domain names (RFC 9224 section 4)
	RegistryIPv4                       // servers for IPv4 prefixes (RFC 9224 section 5.1)
	RegistryIPv6                       // servers for IPv6 prefixes (RFC 9224 section 5.2)
	RegistryASN                        // servers for AS numbers (RFC 9224 section 5.3)
	RegistryObjectTags                 // servers for tags of service providers (RFC 8521)

	registries = int(iota)
)

// String returns the name of the registry's file without its extension: "dns",
// "ipv4", "ipv6", "asn", "object-tags".
func (reg Registry) String() string {
	switch reg {
	case RegistryDNS:
		return "dns"
	case RegistryIPv4:
		return "ipv4"
	case RegistryIPv6:
		return "ipv6"
	case RegistryASN:
		return "asn"
	case RegistryObjectTags:
		return "object-tags"
	}
	return fmt.Sprintf("Registry(%d)", uint8(reg))
}

// file returns the name of the registry's file at IANA and in the cache.
func (reg Registry) file() string { return reg.String() + ".json" }

// parse parses a file of this registry. It returns an error for a file without a valid entry,
// which also detects files that were mixed up.
func (reg Registry) parse(data []byte, allowHTTP bool) (*edition, error) {
	f, err := ianafile.Parse(data, reg == RegistryObjectTags)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", reg.file(), err)
	}
	return reg.edition(f, allowHTTP)
}

func (reg Registry) edition(f *ianafile.File, allowHTTP bool) (*edition, error) {
	n := 0
	for _, s := range f.Services {
		n += len(s.Keys)
	}
	b := tableBuilder{allowHTTP: allowHTTP, keys: make([]key, 0, n), entries: make([]entry, 0, n)}
	var keys []key
	for _, s := range f.Services {
		keys = keys[:0]
		for _, text := range s.Keys {
			if k, err := reg.key(text); err == nil {
				keys = append(keys, k)
			}
		}
		b.add(s.URLs, keys...)
	}
	t := b.table()
	if t.entries == 0 {
		return nil, fmt.Errorf("%s: %w: no usable entries", reg.file(), ianafile.ErrMalformed)
	}
	return &edition{table: t, published: f.Published}, nil
}

// key parses the key of an entry.
func (reg Registry) key(text string) (key, error) {
	switch reg {
	case RegistryDNS:
		return suffixKey(text)
	case RegistryIPv4, RegistryIPv6:
		k, err := prefixKey(text)
		if err == nil && k.registry != reg {
			err = fmt.Errorf("%q has the wrong address family", text)
		}
		return k, err
	case RegistryASN:
		return autnumKey(text)
	default:
		return tagKey(text)
	}
}

// A RegistryInfo describes a [Resolver]'s copy of one registry.
type RegistryInfo struct {
	Registry  Registry  // registry that the copy is of
	Source    Source    // SourceIANA or SourceSnapshot
	Entries   int       // number of usable entries
	URL       string    // URL of the file; empty if nothing is downloaded
	Published time.Time // publication date stated in the file; may be zero
	Fetched   time.Time // when IANA last confirmed the copy; zero for the snapshot
	Expires   time.Time // end of the copy's lifetime; zero for the snapshot
	Fresh     bool      // the copy is within its lifetime
	Err       error     // error of the last refresh, maybe in another process; nil after a success
}

// Info describes the five registries in the order of their constants. It reads the cache if no
// lookup has done so, and downloads nothing. A zero Resolver has no registries.
func (r *Resolver) Info() []RegistryInfo {
	if r.ctx == nil {
		return nil
	}
	infos := make([]RegistryInfo, 0, registries)
	now := r.now()
	for i := range r.states {
		h := &r.states[i]
		ed := r.edition(h)
		info := RegistryInfo{
			Registry:  h.registry,
			Source:    ed.source,
			Entries:   ed.table.entries,
			Published: ed.published,
			Fetched:   ed.fetched,
			Expires:   ed.expires,
			Fresh:     ed.fresh(now),
		}
		if !r.offline {
			info.URL = JoinURL(r.baseURL, h.registry.file())
		}
		if f := h.failure.Load(); f != nil {
			info.Err = f.err
		}
		infos = append(infos, info)
	}
	return infos
}
