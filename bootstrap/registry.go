package bootstrap

import (
	"fmt"
	"time"

	"github.com/rdapq/rdapq/bootstrap/internal/ianafile"
)

// A Registry is one of the files that IANA publishes.
type Registry uint8

const (
	RegistryDNS        Registry = iota // domain names (RFC 9224 section 4)
	RegistryIPv4                       // IPv4 prefixes (RFC 9224 section 5.1)
	RegistryIPv6                       // IPv6 prefixes (RFC 9224 section 5.2)
	RegistryASN                        // AS numbers (RFC 9224 section 5.3)
	RegistryObjectTags                 // tags of service providers (RFC 8521)

	registries = int(iota)
)

// String returns the name of the registry's file without its ending: "dns",
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

// file is the name of the registry's file at IANA and in the cache.
func (reg Registry) file() string { return reg.String() + ".json" }

// parse reads a file of this registry. A file without a single entry that
// makes sense in this registry is refused, so that a mix-up of files is too.
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

// key reads an entry of this registry.
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

// A RegistryInfo says what a [Resolver] has of one registry.
type RegistryInfo struct {
	Registry  Registry
	Source    Source    // SourceIANA or SourceSnapshot
	Entries   int       // usable entries
	URL       string    // where the file comes from; empty when nothing is fetched
	Published time.Time // what the file says of itself; may be zero
	Fetched   time.Time // when IANA last confirmed it; zero for the snapshot
	Expires   time.Time // until when that counts; zero for the snapshot
	Fresh     bool      // it counts at the moment
	Err       error     // why the last refresh failed, maybe in another process; nil when it did not
}

// Info describes the five registries in the order of their constants. It reads
// the cache where no lookup did so yet, and fetches nothing.
func (r *Resolver) Info() []RegistryInfo {
	infos := make([]RegistryInfo, 0, registries)
	now := r.now()
	for i := range r.holders {
		h := &r.holders[i]
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
