package bootstrap

import "time"

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
