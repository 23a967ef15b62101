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

// A cache is a directory. For each registry it has the file as IANA sent it, a sidecar with
// metadata, and a lock file. With an empty dir, nothing is stored.
type cache struct{ dir string }

// A meta is the content of the sidecar.
type meta struct {
	// URL of the registries; a file from another URL is not a copy of this one
	BaseURL      string    `json:"base_url"`
	ETag         string    `json:"etag,omitempty"`
	LastModified string    `json:"last_modified,omitempty"`
	Fetched      time.Time `json:"fetched,omitzero"` // when IANA last confirmed that the file is current
	Expires      time.Time `json:"expires,omitzero"`
	Size         int64     `json:"size,omitempty"` // size of the file in bytes

	Failures int       `json:"failures,omitempty"` // failed refreshes in a row
	Failure  string    `json:"failure,omitempty"`  // error of the last failed refresh
	Retry    time.Time `json:"retry,omitzero"`     // when to try again after a failure
}

// A download is the last file from IANA with its metadata. A *download may be nil.
type download struct {
	meta    meta
	edition *edition // nil means no usable file was ever received
}

// lastFailure returns the error of the last refresh, by this or another process.
func (m *meta) lastFailure() *failure {
	if m.Failures == 0 {
		return nil
	}
	return &failure{errors.New(m.Failure)}
}

// due returns when to download next; the zero time means now. It ignores times that only a
// wrong clock can have written.
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

// readCache returns the cached copy of a registry, or nil. It ignores a damaged file, which is
// then downloaded again.
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
		// Without the sidecar, the origin of a file is unknown.
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
		// A file newer than its sidecar means that another process is between its two renames,
		// or crashed there. Use the file, and revalidate it.
		d.meta.ETag, d.meta.LastModified, d.meta.Expires = "", "", time.Time{}
	}
	d.setTimes()
	return d
}

// setTimes copies the times of the metadata to the edition.
func (d *download) setTimes() {
	ed := *d.edition
	ed.source, ed.fetched, ed.expires = SourceIANA, d.meta.Fetched, d.meta.Expires
	if ed.expires.IsZero() {
		ed.expires = ed.fetched // makes the copy stale; zero would mean that it never expires
		if ed.expires.IsZero() {
			ed.expires = time.Unix(0, 0)
		}
	}
	d.edition = &ed
}

// write stores the metadata and, unless data is nil, the file. It writes the file first. A file
// with an older sidecar is downloaded once more, but an old file with a newer sidecar would
// count as new.
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

// lock takes the lock for refreshing a registry in this directory. It waits for a process that
// holds the lock.
func (c cache) lock(wait func() error, reg Registry) (unlock func() error, err error) {
	if c.dir == "" {
		return func() error { return nil }, nil
	}
	if err := os.MkdirAll(c.dir, 0o755); err != nil {
		return nil, err
	}
	return statefile.Lock(c.file(reg), wait)
}
