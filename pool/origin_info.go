package pool

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"
)

// OriginInfo are what was learned about an origin. They make its next start faster
// and nothing else depends on them. The zero value is that nothing is known.
type OriginInfo struct {
	Protocol string `json:"protocol,omitempty"` // ALPN name that TCP connections negotiated last: "h2" or "http/1.1"

	// H3 is the host and port at which the origin offers HTTP/3 until H3Until
	// (RFC 7838); an empty host is the origin's own. H3Local says that the
	// offer came from an address that is not public, and may lead to such.
	H3      string    `json:"h3,omitempty"`
	H3Until time.Time `json:"h3_until,omitzero"`
	H3Local bool      `json:"h3_local,omitempty"`

	// QUICBlocked is until when HTTP/3 is not tried, because it failed where TCP
	// worked, QUICFailures times in a row (RFC 7838 section 2.4).
	QUICBlocked  time.Time `json:"quic_blocked,omitzero"`
	QUICFailures int       `json:"quic_failures,omitempty"`

	// EarlyBlocked is until when no early data (0-RTT) is sent, because requests
	// failed with it and not without, EarlyFailures times in a row.
	EarlyBlocked  time.Time `json:"early_blocked,omitzero"`
	EarlyFailures int       `json:"early_failures,omitempty"`

	// ResumeBlocked is until when no TLS session is resumed, because requests failed
	// on connections that resumed one and not on others, ResumeFailures times in a
	// row. FastOpenBlocked and FastOpenFailures are the same for TCP Fast Open.
	ResumeBlocked    time.Time `json:"resume_blocked,omitzero"`
	ResumeFailures   int       `json:"resume_failures,omitempty"`
	FastOpenBlocked  time.Time `json:"fast_open_blocked,omitzero"`
	FastOpenFailures int       `json:"fast_open_failures,omitempty"`

	Streams   int `json:"streams,omitempty"`    // requests at once on an HTTP/2 connection; 0: not known
	H3Streams int `json:"h3_streams,omitempty"` // the same for HTTP/3

	// PerConn is the number of requests after which the server closes a
	// connection; 0: not known. Believed until PerConnUntil.
	PerConn      int       `json:"per_conn,omitempty"`
	PerConnUntil time.Time `json:"per_conn_until,omitzero"`

	Updated time.Time `json:"updated"` // when it was learned last; set by the store, and for it alone
}

// An OriginStore keeps the [OriginInfo] of origins ("https://rdap.example:8443"; the
// port only if it isn't the usual one), possibly between runs. It must be safe for
// concurrent use.
//
// The Pool calls it without a lock, so its methods may call Stats, Capacity,
// CloseIdleConnections and Close, and RoundTrip at another origin. They must not wait
// for a request to the same origin, which waits for them.
//
// The Pool reads an origin on its first request, and at most once a minute after that.
type OriginStore interface {
	// Get returns what is known about an origin.
	Get(origin string) OriginInfo
	// Update lets change work on what is known about an origin, and keeps it.
	Update(origin string, change func(*OriginInfo))
}

// perConnLifetime is how long it is believed that a server takes so many requests
// on a connection: as long as that, nobody tries whether it takes more.
const perConnLifetime = 24 * time.Hour

// maxStoredOrigins bounds the origins that a store keeps: those updated last.
const maxStoredOrigins = 4096

// A memoryOriginStore is the store in memory.
type memoryOriginStore struct {
	mu      sync.Mutex
	origins map[string]OriginInfo
}

func newMemoryOriginStore() *memoryOriginStore {
	return &memoryOriginStore{origins: make(map[string]OriginInfo)}
}

func (s *memoryOriginStore) Get(origin string) OriginInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.origins[origin]
}

func (s *memoryOriginStore) Update(origin string, change func(*OriginInfo)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.origins[origin]
	change(&f)
	f.Updated = time.Now()
	s.origins[origin] = f
	trimOrigins(s.origins, maxStoredOrigins+maxStoredOrigins/8) // seldom, and then a good part
}

// replace stores info for an origin if what is stored is still before.
func (s *memoryOriginStore) replace(origin string, before, info OriginInfo) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.origins[origin] != before {
		return
	}
	s.origins[origin] = info
	trimOrigins(s.origins, maxStoredOrigins+maxStoredOrigins/8)
}

// trimOrigins brings origins down to maxStoredOrigins if there are more than most.
func trimOrigins(origins map[string]OriginInfo, limit int) {
	if len(origins) <= limit {
		return
	}
	names := slices.SortedFunc(maps.Keys(origins), func(a, b string) int {
		return cmp.Or(origins[b].Updated.Compare(origins[a].Updated), cmp.Compare(a, b))
	})
	for _, name := range names[maxStoredOrigins:] {
		delete(origins, name)
	}
}

// Bounds of the time for which HTTP/3 or early data is left alone after it did not get
// through: it doubles with each failure.
const (
	firstBlock = 5 * time.Minute
	maxBlock   = 24 * time.Hour
)

// blockDuration is how long something is left alone that failed so many times
// before.
func blockDuration(failures int) time.Duration {
	if failures < 9 {
		return min(maxBlock, firstBlock<<max(failures, 0))
	}
	return maxBlock
}

// blockQUIC notes that HTTP/3 failed where TCP worked.
func (f *OriginInfo) blockQUIC(now time.Time) {
	f.QUICBlocked = now.Add(blockDuration(f.QUICFailures))
	f.QUICFailures = min(f.QUICFailures+1, 9)
}

// blockEarly notes that requests failed with early data and not without.
func (f *OriginInfo) blockEarly(now time.Time) {
	f.EarlyBlocked = now.Add(blockDuration(f.EarlyFailures))
	f.EarlyFailures = min(f.EarlyFailures+1, 9)
}

// unblockEarly notes that early data brought a useful response.
func (f *OriginInfo) unblockEarly() { f.EarlyBlocked, f.EarlyFailures = time.Time{}, 0 }

// blockResume notes that requests failed on resumed sessions and not without.
func (f *OriginInfo) blockResume(now time.Time) {
	f.ResumeBlocked = now.Add(blockDuration(f.ResumeFailures))
	f.ResumeFailures = min(f.ResumeFailures+1, 9)
}

// unblockResume notes that a resumed session brought a convincing response.
func (f *OriginInfo) unblockResume() { f.ResumeBlocked, f.ResumeFailures = time.Time{}, 0 }

// blockFastOpen notes that requests failed with TCP Fast Open and not without.
func (f *OriginInfo) blockFastOpen(now time.Time) {
	f.FastOpenBlocked = now.Add(blockDuration(f.FastOpenFailures))
	f.FastOpenFailures = min(f.FastOpenFailures+1, 9)
}

// unblockFastOpen notes that TCP Fast Open brought a convincing response.
func (f *OriginInfo) unblockFastOpen() { f.FastOpenBlocked, f.FastOpenFailures = time.Time{}, 0 }

// unblockQUIC notes that HTTP/3 got through.
func (f *OriginInfo) unblockQUIC() { f.QUICBlocked, f.QUICFailures = time.Time{}, 0 }

// h3Usable reports whether HTTP/3 is worth trying.
func (f *OriginInfo) h3Usable(now time.Time) bool {
	return f.H3 != "" && now.Before(f.H3Until) && !now.Before(f.QUICBlocked)
}

// sanitized returns f without what no clock in order and no server in its right
// mind can have written.
func (f OriginInfo) sanitized(now time.Time) OriginInfo {
	if f.H3Until.After(now.Add(maxAltSvcLife)) {
		f.H3, f.H3Until = "", time.Time{}
	}
	if f.QUICBlocked.After(now.Add(maxBlock)) || f.QUICFailures < 0 {
		f.unblockQUIC()
	}
	if f.EarlyBlocked.After(now.Add(maxBlock)) || f.EarlyFailures < 0 {
		f.unblockEarly()
	}
	if f.ResumeBlocked.After(now.Add(maxBlock)) || f.ResumeFailures < 0 {
		f.unblockResume()
	}
	if f.FastOpenBlocked.After(now.Add(maxBlock)) || f.FastOpenFailures < 0 {
		f.unblockFastOpen()
	}
	if f.Protocol != protoHTTP1 && f.Protocol != protoHTTP2 {
		f.Protocol = ""
	}
	if f.PerConnUntil.After(now.Add(perConnLifetime)) {
		f.PerConn, f.PerConnUntil = 0, time.Time{}
	}
	f.Streams, f.H3Streams, f.PerConn = max(f.Streams, 0), max(f.H3Streams, 0), max(f.PerConn, 0)
	return f
}
