package bootstrap

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/rdapq/rdapq/internal/statefile"
)

// A cache is a folder with, for each registry, the file as IANA sent it, a
// sidecar with its meta data and a lock file. An empty dir keeps nothing.
type cache struct{ dir string }

// A meta is what the sidecar says.
type meta struct {
	BaseURL      string    `json:"base_url"` // the file of another place is no copy of this one
	ETag         string    `json:"etag,omitempty"`
	LastModified string    `json:"last_modified,omitempty"`
	Fetched      time.Time `json:"fetched,omitzero"` // when IANA last confirmed the file
	Expires      time.Time `json:"expires,omitzero"`
	Size         int64     `json:"size,omitempty"` // of the file that this belongs to, in bytes

	Failures int       `json:"failures,omitempty"` // refreshes in a row that failed
	Failure  string    `json:"failure,omitempty"`  // why the last one did
	Retry    time.Time `json:"retry,omitzero"`     // when to try again after that
}

// A download is the file that IANA sent last, with what is known about it. A
// nil download is none at all.
type download struct {
	meta    meta
	edition *edition // nil: nothing usable was ever received
}

// remembered is why the last refresh failed, here or in another process.
func (m *meta) remembered() *failure {
	if m.Failures == 0 {
		return nil
	}
	return &failure{errors.New(m.Failure)}
}

// due is when to fetch next; the zero time is at once. Times that no clock in
// order can have written count as none.
func (d *download) due(now time.Time) time.Time {
	switch {
	case d == nil:
		return time.Time{}
	case d.meta.Failures > 0 && d.meta.Retry.Before(now.Add(maxRetryAfter+clockSkew)):
		return d.meta.Retry
	case d.edition != nil && d.edition.fresh(now):
		return d.meta.Expires
	}
	return time.Time{}
}

func (c cache) path(reg Registry, ending string) string {
	return filepath.Join(c.dir, reg.String()+ending)
}

func (c cache) file(reg Registry) string    { return c.path(reg, ".json") }
func (c cache) sidecar(reg Registry) string { return c.path(reg, ".meta.json") }

// readCache reads what the cache has of a registry, nil if that is nothing.
// What is broken there is no trouble: it is fetched anew.
func (r *Resolver) readCache(reg Registry) *download {
	if r.cache.dir == "" {
		return nil
	}
	d := new(download)
	side, err := os.ReadFile(r.cache.sidecar(reg))
	if err == nil {
		err = json.Unmarshal(side, &d.meta)
	}
	if err != nil || d.meta.BaseURL != r.baseURL {
		// Without its sidecar nobody knows where a file comes from.
		if !errors.Is(err, fs.ErrNotExist) {
			r.log.Debug("cached registry ignored", "registry", reg, "err", err, "base_url", d.meta.BaseURL)
		}
		return nil
	}
	data, err := os.ReadFile(r.cache.file(reg))
	if err == nil {
		d.edition, err = reg.parse(data, r.allowHTTP)
	}
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			r.log.Debug("cached registry unreadable", "registry", reg, "err", err)
		}
		d.meta.ETag, d.meta.LastModified, d.meta.Fetched, d.meta.Expires = "", "", time.Time{}, time.Time{}
		return d
	}
	if int64(len(data)) != d.meta.Size {
		// A newer file with an older sidecar, between the two renames of a
		// writer or after a crash there: usable, but to be confirmed.
		d.meta.ETag, d.meta.LastModified, d.meta.Expires = "", "", time.Time{}
	}
	d.stamp()
	return d
}

// stamp gives the edition the times of the meta data.
func (d *download) stamp() {
	ed := *d.edition
	ed.source, ed.fetched, ed.expires = SourceIANA, d.meta.Fetched, d.meta.Expires
	if ed.expires.IsZero() {
		ed.expires = ed.fetched // stale, where zero would mean for ever
		if ed.expires.IsZero() {
			ed.expires = time.Unix(0, 0)
		}
	}
	d.edition = &ed
}

// write stores the meta data and, unless it is nil, the file. The file goes
// first: an older sidecar beside it costs one download, a newer one would
// make an old file pass for new.
func (c cache) write(reg Registry, m *meta, data []byte) error {
	if c.dir == "" {
		return nil
	}
	if data != nil {
		if err := statefile.Replace(c.file(reg), data); err != nil {
			return err
		}
	}
	side, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return statefile.Replace(c.sidecar(reg), side)
}

// lock makes this process the only one that refreshes a registry in this
// folder. It waits for whoever does it at the moment.
func (c cache) lock(wait func() error, reg Registry) (unlock func() error, err error) {
	if c.dir == "" {
		return func() error { return nil }, nil
	}
	if err := os.MkdirAll(c.dir, 0o755); err != nil {
		return nil, err
	}
	return statefile.Lock(c.file(reg), wait)
}
