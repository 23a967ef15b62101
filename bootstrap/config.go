package bootstrap

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// DefaultBaseURL is IANA's URL of the registries.
const DefaultBaseURL = "https://data.iana.org/rdap/"

// A Config configures a [Resolver]. With the zero value, the Resolver answers from the
// snapshot, downloads IANA's files in the background and keeps them in memory.
type Config struct {
	// Dir is the cache directory. The Resolver creates it when needed, and any number of
	// processes may share it. Empty means memory only.
	Dir string

	// BaseURL overrides [DefaultBaseURL]. Plain http is an error unless the host is a
	// loopback address or AllowHTTP is set.
	BaseURL string

	// Client downloads IANA's files. Nil means a client with time limits that connects
	// to public addresses only (see AllowPrivate) and uses the proxy of the environment.
	// To use the connections of a *pool.Pool p, pass &http.Client{Transport:
	// p.Guarded()}.
	Client *http.Client

	// UserAgent is the User-Agent field of downloads. Empty means the name of this
	// library.
	UserAgent string

	// AllowPrivate also downloads files from private addresses, if a redirect or the name of
	// [DefaultBaseURL] points to one. BaseURL may always be private. AllowPrivate does not
	// determine whether a client may query private servers; [Answer.Source] does.
	AllowPrivate bool

	// Server is a base URL that is the answer to all questions. Nothing is looked up or
	// downloaded.
	Server string

	// Overrides take precedence over the registries.
	Overrides Overrides

	// IANAOnly turns off the built-in list of servers that IANA does not list, and IANA's own
	// server for top-level domains.
	IANAOnly bool

	// Offline turns off downloads: answers come from the cache, however old, and from
	// the snapshot.
	Offline bool

	// AllowHTTP allows services with plain http URLs only. https URLs still come first.
	AllowHTTP bool

	// Files, if not nil, replace all of IANA's files: nothing is downloaded, and the cache and
	// the snapshot are not read. A registry without a file has no servers. Top-level domains
	// are looked up like names below them. Answers have SourceIANA, so that a client does not
	// query private addresses in them. Put servers with private addresses into Overrides.
	Files map[Registry][]byte

	// Logger logs downloads, and problems that are not passed to Warn. Nil logs nothing.
	Logger *slog.Logger

	// Warn is called with a warning for the user: one sentence without a final dot, once
	// per kind of problem. Calls are not concurrent, but may come from another
	// goroutine. Nil means no warnings.
	Warn func(string)

	// Now is the clock. Nil means [time.Now].
	Now func() time.Time
}

// New returns a Resolver. New reads no file and downloads nothing. The error is a
// [*ConfigError] that describes an invalid field. Call [Resolver.Close] when the Resolver is no
// longer needed.
func New(c Config) (*Resolver, error) {
	r := &Resolver{
		offline:       c.Offline || c.Files != nil,
		filesGiven:    c.Files != nil,
		allowHTTP:     c.AllowHTTP,
		fallbackWait:  defaultFallbackWait,
		cache:         cache{dir: c.Dir},
		client:        c.Client,
		userAgent:     cmp.Or(c.UserAgent, defaultUserAgent),
		log:           c.Logger,
		warn:          c.Warn,
		now:           c.Now,
		warned:        make(map[warningKind]bool),
		snapshotTaken: sync.OnceValue(snapshotTaken),
	}
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	if r.now == nil {
		r.now = time.Now
	}
	if err := r.setURLs(c); err != nil {
		return nil, err
	}
	if len(c.Overrides) > 0 {
		t, err := c.Overrides.table()
		if err != nil {
			return nil, &ConfigError{"Overrides", err}
		}
		r.overrides = t
	}
	if !c.IANAOnly {
		r.unlisted = unlistedTable(c.AllowHTTP)
	}
	for i := range r.states {
		r.states[i].registry = Registry(i)
	}
	if c.Files != nil {
		if err := r.setFiles(c.Files); err != nil {
			return nil, &ConfigError{"Files", err}
		}
	}
	if r.client == nil && !r.offline {
		named := ""
		if c.BaseURL != "" {
			named = r.baseURL
		}
		r.client, r.closeIdle = ownClient(named, c.AllowPrivate)
	}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	return r, nil
}

func (r *Resolver) setURLs(c Config) error {
	if c.Server != "" {
		u, _, err := baseURL(c.Server)
		if err != nil {
			return &ConfigError{"Server", err}
		}
		r.server = []string{u}
	}
	base, isHTTPS, err := baseURL(cmp.Or(c.BaseURL, DefaultBaseURL))
	if err != nil {
		return &ConfigError{"BaseURL", err}
	}
	r.baseURL = base
	if u, err := url.Parse(base); err != nil || !isHTTPS && !c.AllowHTTP && !isLoopback(u) {
		return &ConfigError{"BaseURL", errors.New("registries must be fetched over https (RFC 9224 section 8)")}
	}
	return nil
}

func (r *Resolver) setFiles(files map[Registry][]byte) error {
	for reg := range files {
		if int(reg) >= len(r.states) {
			return fmt.Errorf("unknown registry %v", reg)
		}
	}
	for i := range r.states {
		ed := &edition{table: new(table)}
		if data, ok := files[Registry(i)]; ok {
			var err error
			if ed, err = Registry(i).parse(data, r.allowHTTP); err != nil {
				return err
			}
		}
		ed.source = SourceIANA
		r.states[i].current.Store(ed)
	}
	return nil
}
