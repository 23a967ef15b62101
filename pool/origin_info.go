package pool

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"time"
)

// originInfo records the observed properties of an origin. It only makes the next start faster.
// The zero value means that nothing is known.
type originInfo struct {
	Protocol string `json:"protocol,omitempty"` // ALPN name negotiated last over TCP: "h2" or "http/1.1"

	// H3 is the host and port at which the origin offers HTTP/3 until H3Until (RFC 7838); an
	// empty host means the origin's own. H3Local reports that the offer came from a private
	// address, and may point to a private address.
	H3      string    `json:"h3,omitempty"`
	H3Until time.Time `json:"h3_until,omitzero"`
	H3Local bool      `json:"h3_local,omitempty"`

	// QUICBlocked is when HTTP/3 may be tried again. QUICFailures counts the times in a row
	// that HTTP/3 failed while TCP worked (RFC 7838 section 2.4).
	QUICBlocked  time.Time `json:"quic_blocked,omitzero"`
	QUICFailures int       `json:"quic_failures,omitempty"`

	// EarlyBlocked is when early data (0-RTT) may be sent again. EarlyFailures counts the times
	// in a row that requests failed only with early data.
	EarlyBlocked  time.Time `json:"early_blocked,omitzero"`
	EarlyFailures int       `json:"early_failures,omitempty"`

	// ResumeBlocked is when TLS sessions may be resumed again. ResumeFailures counts the times
	// in a row that requests failed only on resumed connections. FastOpenBlocked and
	// FastOpenFailures are the same for TCP Fast Open.
	ResumeBlocked    time.Time `json:"resume_blocked,omitzero"`
	ResumeFailures   int       `json:"resume_failures,omitempty"`
	FastOpenBlocked  time.Time `json:"fast_open_blocked,omitzero"`
	FastOpenFailures int       `json:"fast_open_failures,omitempty"`

	Streams   int `json:"streams,omitempty"`    // concurrent requests on an HTTP/2 connection; 0 means unknown
	H3Streams int `json:"h3_streams,omitempty"` // concurrent requests on an HTTP/3 connection; 0 means unknown

	// PerConn is the number of requests after which the server closes a connection; 0 means
	// unknown. PerConn applies until PerConnUntil.
	PerConn      int       `json:"per_conn,omitempty"`
	PerConnUntil time.Time `json:"per_conn_until,omitzero"`

	Updated time.Time `json:"updated"` // time of the last change; set and used by the store only
}

// An OriginStore keeps what the Pool learned about origins ("https://rdap.example:8443", with
// the port only if it is not the default), possibly between runs, for example in a file
// ([OriginFile]) or in a database. It must be safe for concurrent use.
//
// The data of an origin is opaque: a few hundred bytes of JSON whose members may change. It only
// makes the next start faster. The Pool treats data that it cannot read as missing.
//
// The Pool calls the store without a lock, so its methods may call Stats, Capacity,
// CloseIdleConnections and Close, and RoundTrip at another origin. Calls for one origin are made
// in order. The context of a call has a deadline, 5 s away, and no values of a request.
//
// The Pool reads an origin on its first request, which waits for it, one second at most, and
// later in the background, at most once a minute. After a wait of a second, no request waits for
// a minute. An error fails no request: the Pool logs the first one as a warning, and continues
// with what it has in memory.
type OriginStore interface {
	// Get returns the data that Put stored last for an origin, and nil if there is none.
	Get(ctx context.Context, origin string) ([]byte, error)
	// Put stores the data of an origin. The Pool does not change data afterwards.
	Put(ctx context.Context, origin string, data []byte) error
}

// An originStore is a store that may be called under a lock of the Pool.
type originStore interface {
	info(origin string) originInfo
	update(origin string, change func(*originInfo))
}

// maxOriginData limits the data of an origin in a user's store, in bytes.
const maxOriginData = 64 << 10

// encoded returns f in the form that decodeOriginInfo reads.
func (f originInfo) encoded() []byte {
	b, err := json.Marshal(f)
	if err != nil {
		return nil // cannot happen: all members can be encoded
	}
	return b
}

// decodeOriginInfo returns the zero value for invalid data.
func decodeOriginInfo(data []byte) originInfo {
	var f originInfo
	if len(data) > maxOriginData || json.Unmarshal(data, &f) != nil {
		return originInfo{}
	}
	return f.sanitized(time.Now())
}

// perConnLifetime is how long PerConn is used. During that time no connection gets more
// requests.
const perConnLifetime = 24 * time.Hour

// maxStoredOrigins limits the origins in a store, which keeps those updated last.
const maxStoredOrigins = 4096

// A memoryOriginStore is a store in memory.
type memoryOriginStore struct {
	mu      sync.Mutex
	origins map[string]originInfo
}

func newMemoryOriginStore() *memoryOriginStore {
	return &memoryOriginStore{origins: make(map[string]originInfo)}
}

func (s *memoryOriginStore) info(origin string) originInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.origins[origin]
}

func (s *memoryOriginStore) update(origin string, change func(*originInfo)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	updateOrigin(s.origins, origin, change)
}

func updateOrigin(origins map[string]originInfo, origin string, change func(*originInfo)) {
	f := origins[origin]
	change(&f)
	f.Updated = time.Now()
	origins[origin] = f
	trimOrigins(origins, maxStoredOrigins+maxStoredOrigins/8) // trim rarely, and then remove many entries
}

// replace stores info for an origin if the store still has before.
func (s *memoryOriginStore) replace(origin string, before, info originInfo) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.origins[origin] != before {
		return
	}
	s.origins[origin] = info
	trimOrigins(s.origins, maxStoredOrigins+maxStoredOrigins/8)
}

// trimOrigins removes the oldest origins beyond maxStoredOrigins if there are more
// than limit.
func trimOrigins(origins map[string]originInfo, limit int) {
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

// Limits of the time for which a feature is not used after a failure; the time
// doubles with each failure.
const (
	firstBlock = 5 * time.Minute
	maxBlock   = 24 * time.Hour
)

// blockDuration returns how long a feature is not used after failures earlier
// failures.
func blockDuration(failures int) time.Duration {
	if failures < 9 {
		return min(maxBlock, firstBlock<<max(failures, 0))
	}
	return maxBlock
}

// blockQUIC records that HTTP/3 failed while TCP worked.
func (f *originInfo) blockQUIC(now time.Time) {
	f.QUICBlocked = now.Add(blockDuration(f.QUICFailures))
	f.QUICFailures = min(f.QUICFailures+1, 9)
}

// blockEarly records that requests failed only with early data.
func (f *originInfo) blockEarly(now time.Time) {
	f.EarlyBlocked = now.Add(blockDuration(f.EarlyFailures))
	f.EarlyFailures = min(f.EarlyFailures+1, 9)
}

// unblockEarly records a useful response to early data.
func (f *originInfo) unblockEarly() { f.EarlyBlocked, f.EarlyFailures = time.Time{}, 0 }

// blockResume records that requests failed only on resumed sessions.
func (f *originInfo) blockResume(now time.Time) {
	f.ResumeBlocked = now.Add(blockDuration(f.ResumeFailures))
	f.ResumeFailures = min(f.ResumeFailures+1, 9)
}

// unblockResume records a successful response on a resumed session.
func (f *originInfo) unblockResume() { f.ResumeBlocked, f.ResumeFailures = time.Time{}, 0 }

// blockFastOpen records that requests failed only with TCP Fast Open.
func (f *originInfo) blockFastOpen(now time.Time) {
	f.FastOpenBlocked = now.Add(blockDuration(f.FastOpenFailures))
	f.FastOpenFailures = min(f.FastOpenFailures+1, 9)
}

// unblockFastOpen records a successful response with TCP Fast Open.
func (f *originInfo) unblockFastOpen() { f.FastOpenBlocked, f.FastOpenFailures = time.Time{}, 0 }

// unblockQUIC records that HTTP/3 works.
func (f *originInfo) unblockQUIC() { f.QUICBlocked, f.QUICFailures = time.Time{}, 0 }

// h3Usable reports whether HTTP/3 is offered and not blocked.
func (f *originInfo) h3Usable(now time.Time) bool {
	return f.H3 != "" && now.Before(f.H3Until) && !now.Before(f.QUICBlocked)
}

// sanitized returns f without values that only a wrong clock or a broken program can
// have written.
func (f originInfo) sanitized(now time.Time) originInfo {
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
