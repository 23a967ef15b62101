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

// DefaultBaseURL is where IANA publishes the registries.
const DefaultBaseURL = "https://data.iana.org/rdap/"

// A Config says how a [Resolver] works. The zero value answers from the
// snapshot, fetches IANA's files beside that, and keeps them in memory.
type Config struct {
	// Dir is the folder of the cache; it is made when needed, and may be
	// shared by any number of processes. Empty: memory only.
	Dir string

	// BaseURL is where the files are, in place of [DefaultBaseURL]. Plain
	// http is refused unless it is on loopback or AllowHTTP is set.
	BaseURL string

	// Client fetches IANA's files. Nil means a client of the resolver's own,
	// with bounded times, that connects to public addresses only (see
	// AllowPrivate) and uses the proxy of the environment. A program whose
	// connections are configured elsewhere passes that configuration here, for
	// example &http.Client{Transport: p.Guarded()} for a *pool.Pool p.
	Client *http.Client

	// UserAgent is the User-Agent field of the requests for IANA's files.
	// Empty means the name of this library.
	UserAgent string

	// AllowPrivate fetches the files also where only this machine or its
	// network gets to, when a redirect or the name of [DefaultBaseURL] leads
	// there. BaseURL is asked wherever it is. (Which of the servers that the
	// files name may be asked is not decided here: that depends on
	// [Answer.Source].)
	AllowPrivate bool

	// Server is a base URL that answers everything. Nothing is looked up or
	// fetched then.
	Server string

	// Overrides go before the registries.
	Overrides Overrides

	// IANAOnly turns off the built-in list of servers that IANA's file lacks, and with
	// it IANA's server for top-level domains.
	IANAOnly bool

	// Offline never fetches: answers come from the cache, however old, and
	// the snapshot.
	Offline bool

	// AllowHTTP lets services be used that speak plain http only; https URLs
	// still come first.
	AllowHTTP bool

	// Files, when not nil, stand for all of IANA's files: nothing is fetched,
	// the cache and the snapshot are not read, and a registry without a file
	// knows no server; top-level domains are looked up where the names below them
	// are. They are taken for IANA's words and not for yours, so
	// that a client asks no private address because of them; name such servers
	// in Overrides.
	Files map[Registry][]byte

	// Logger is told of downloads, and of trouble that Warn is not told of. Nil:
	// nobody is.
	Logger *slog.Logger

	// Warn is told what the user should know, one sentence without a final
	// dot, once for each kind of trouble. Calls come one at a time, maybe
	// from another goroutine. Nil: nobody is told.
	Warn func(string)

	// Now is the clock. Nil: [time.Now].
	Now func() time.Time
}

// New makes a resolver. It reads and fetches nothing yet; an error means that
// the configuration makes no sense. Call [Resolver.Close] when done.
func New(c Config) (*Resolver, error) {
	r := &Resolver{
		offline:   c.Offline || c.Files != nil,
		given:     c.Files != nil,
		allowHTTP: c.AllowHTTP,
		patience:  fallbackWait,
		cache:     cache{dir: c.Dir},
		client:    c.Client,
		userAgent: cmp.Or(c.UserAgent, defaultUserAgent),
		log:       c.Logger,
		warn:      c.Warn,
		now:       c.Now,
		warned:    make(map[trouble]bool),
		taken:     sync.OnceValue(snapshotTaken),
	}
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	if r.now == nil {
		r.now = time.Now
	}
	if err := r.setURLs(c); err != nil {
		return nil, fmt.Errorf("bootstrap: %w", err)
	}
	if len(c.Overrides) > 0 {
		t, err := c.Overrides.table()
		if err != nil {
			return nil, fmt.Errorf("bootstrap: %w", err)
		}
		r.overrides = t
	}
	if !c.IANAOnly {
		r.unlisted = unlistedTable(c.AllowHTTP)
	}
	for i := range r.holders {
		r.holders[i].registry = Registry(i)
	}
	if c.Files != nil {
		if err := r.setFiles(c.Files); err != nil {
			return nil, fmt.Errorf("bootstrap: %w", err)
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
			return fmt.Errorf("server: %w", err)
		}
		r.server = []string{u}
	}
	base, isHTTPS, err := baseURL(cmp.Or(c.BaseURL, DefaultBaseURL))
	if err != nil {
		return fmt.Errorf("base URL: %w", err)
	}
	r.baseURL = base
	if u, err := url.Parse(base); err != nil || !isHTTPS && !c.AllowHTTP && !isLoopback(u) {
		return errors.New("base URL: registries must be fetched over https (RFC 9224 section 8)")
	}
	return nil
}

func (r *Resolver) setFiles(files map[Registry][]byte) error {
	for reg := range files {
		if int(reg) >= len(r.holders) {
			return fmt.Errorf("files: unknown registry %v", reg)
		}
	}
	for i := range r.holders {
		ed := &edition{table: new(table)}
		if data, ok := files[Registry(i)]; ok {
			var err error
			if ed, err = Registry(i).parse(data, r.allowHTTP); err != nil {
				return err
			}
		}
		ed.source = SourceIANA
		r.holders[i].current.Store(ed)
	}
	return nil
}
