package docs

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	model "github.com/openrdap/rdap"

	"github.com/rdapq/rdapq/bootstrap"
	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/journal"
	"github.com/rdapq/rdapq/limit"
	"github.com/rdapq/rdapq/openrdap"
	"github.com/rdapq/rdapq/pool"
	"github.com/rdapq/rdapq/rdap"
	"github.com/rdapq/rdapq/rdapqtest"
)

// The functions below are the examples of README.md and of the documents: see
// TestGoExamples. The examples after them call them.

// registrar returns the registrar of a domain, or "" if it is not registered.
func registrar(ctx context.Context, c *client.Client, domain string) (string, error) {
	q, err := client.Parse(domain)
	if err != nil {
		return "", err
	}
	r, err := c.Lookup(ctx, q)
	if err != nil {
		return "", err // a *client.Error with a code, the server and the status
	}
	return r.Summary().Registrar, nil
}

func isTaken(ctx context.Context, c *client.Client, domain string) (bool, error) {
	q, err := client.ParseAs(client.TypeDomain, domain)
	if err != nil {
		return false, err
	}
	r, err := c.Lookup(ctx, q)
	if err != nil {
		return false, err // says nothing about the domain
	}
	return r.Verdict == client.VerdictRegistered, nil
}

func TestIsTaken(t *testing.T) {
	s := rdapqtest.NewServer(t, map[string][]byte{
		"domain/taken.example": rdapqtest.Domain{Name: "taken.example"}.JSON(),
	})
	c, err := client.New(s.Config())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for name, want := range map[string]bool{"taken.example": true, "other.example": false} {
		if taken, err := isTaken(t.Context(), c, name); taken != want || err != nil {
			t.Errorf("%s: %v, %v", name, taken, err)
		}
	}
	s.SetFaults("domain/*", rdapqtest.Status(500))
	if _, err := isTaken(t.Context(), c, "taken.example"); err == nil {
		t.Error("no error after a failure of the server")
	}
}

func lookupDomain(ctx context.Context, c *client.Client, name string) (*model.Domain, error) {
	q, err := client.ParseAs(client.TypeDomain, name)
	if err != nil {
		return nil, err
	}
	r, err := c.Lookup(ctx, q)
	if err != nil {
		return nil, err
	}
	if r.Verdict == client.VerdictNotFound { // an error of openrdap's Client
		return nil, errors.New("no such domain")
	}
	object, err := openrdap.Object(r.Raw)
	if err != nil {
		return nil, err
	}
	d, ok := object.(*model.Domain)
	if !ok {
		return nil, fmt.Errorf("response is not a domain: %T", object)
	}
	return d, nil
}

func explain(err error) string {
	e, ok := errors.AsType[*client.Error](err)
	switch {
	case !ok:
		return err.Error()
	case errors.Is(err, client.CodeRateLimited):
		return fmt.Sprintf("try again in %v", e.RetryAfter)
	case e.Retryable():
		return "try again later"
	case e.Hint != "":
		return e.Message + " (" + e.Hint + ")"
	}
	return e.Message
}

func printContacts(r *client.Result) error {
	record, err := r.Record()
	if err != nil {
		return err
	}
	for _, entity := range record.Entities {
		contact := entity.Contact()
		fmt.Println(entity.Roles, contact.Name, contact.Emails)
	}
	return nil
}

func printVerdicts(ctx context.Context, c *client.Client, names []string) error {
	batch := c.Batch(ctx, client.Inputs(slices.Values(names)))
	for r := range batch.All() {
		if err := r.Err(); err != nil {
			fmt.Println(r.Line, r.Query.Text, r.Verdict, err)
			continue
		}
		fmt.Println(r.Line, r.Query.Text, r.Verdict)
	}
	return batch.Err()
}

func writeVerdicts(ctx context.Context, c *client.Client, names []string, path string) error {
	input, err := journal.Fingerprint("names", strings.NewReader(strings.Join(names, "\n")))
	if err != nil {
		return err
	}
	j, err := journal.Open(path, journal.Config{
		Input: input, // other names are not the same run
		Retry: func(verdict string) bool { return verdict == string(client.VerdictFailed) },
	})
	if err != nil {
		return err
	}
	defer j.Close()
	var failed error // of the journal
	needed := func(yield func(client.Input, error) bool) {
		for i, name := range names {
			line := int64(i + 1)
			ok, err := j.Begin(line)
			if err != nil {
				failed = err
				return
			}
			if ok && !yield(client.Input{Line: line, Text: name}, nil) {
				return
			}
		}
	}
	batch := c.Batch(ctx, needed)
	for r := range batch.All() {
		if ctx.Err() != nil {
			continue // no row: the next run looks it up
		}
		row := fmt.Appendf(nil, `{"line":%d,"verdict":%q}`+"\n", r.Line, r.Verdict)
		if err := j.Write(r.Line, row); err != nil {
			return err
		}
	}
	if err := errors.Join(failed, batch.Err()); err != nil {
		return err
	}
	return j.Complete()
}

func printMatches(ctx context.Context, c *client.Client, server, pattern string) error {
	q, err := client.ParseAs(client.TypeDomains, pattern)
	if err != nil {
		return err
	}
	q.Server = server // empty means the registry of the pattern's top-level domain
	for page, err := range c.Search(ctx, q) {
		if err != nil {
			return err // client.ErrIncomplete: the pages so far are valid
		}
		record, err := page.Record()
		if err != nil {
			return err
		}
		for _, domain := range record.Results {
			fmt.Println(page.Number, domain.LDHName)
		}
	}
	return nil
}

// newClient returns a client that keeps its state in dir, and a function that closes it.
func newClient(dir string, trust *tls.Config, resolver client.Resolver) (*client.Client, func() error, error) {
	sessions, err := pool.OpenSessionFile(filepath.Join(dir, "sessions"), 0, nil)
	if err != nil {
		return nil, nil, err
	}
	origins, err := pool.OpenOriginFile(filepath.Join(dir, "hosts"))
	if err != nil {
		return nil, nil, err
	}
	budgets, err := limit.OpenFile(filepath.Join(dir, "budgets"))
	if err != nil {
		return nil, nil, err
	}
	p, err := pool.New(pool.Config{
		TLS:      trust,                      // nil means the system's certificate authorities
		Trust:    "private-root-2026",        // a name for these authorities; empty for the system's
		Sessions: sessions, Origins: origins, // read by the next run
	})
	if err != nil {
		return nil, nil, err
	}
	c, err := client.New(client.Config{
		Transport: p,
		Resolver:  resolver, // nil means IANA's registries, kept in memory
		Budgets:   budgets,
		UserAgent: "example/1.0 (+https://www.example/)",
	})
	if err != nil {
		return nil, nil, err
	}
	return c, func() error {
		return errors.Join(c.Close(), p.Close(), sessions.Close(), origins.Close(), budgets.Close())
	}, nil
}

func newResolver(dir string) (*bootstrap.Resolver, error) {
	return bootstrap.New(bootstrap.Config{
		Dir:  dir, // shared by processes; each file is fetched once in its lifetime
		Warn: func(text string) { slog.Warn(text) },
	})
}

func getThree(c *http.Client, urls [3]string) error {
	for _, url := range urls {
		resp, err := c.Get(url)
		if err != nil {
			return err
		}
		if err := resp.Body.Close(); err != nil { // drains the body; the connection stays open
			return err
		}
	}
	return nil
}

func expiry(body []byte) (time.Time, error) {
	record, err := rdap.Read(body)
	if err != nil {
		return time.Time{}, err // a *rdap.FormatError: not an RDAP response
	}
	event, _ := record.Event(rdap.EventExpiration)
	return event.Time, nil // zero if the record has no such date
}

func watch(log *slog.Logger, handshakes *atomic.Int64) (client.Config, pool.Config) {
	c := client.Config{
		Logger: log, // requests and redirects, at debug level
		OnHold: func(h client.Hold) { log.Info("paused", "server", h.Server, "until", h.Until) },
		OnAttempt: func(ctx context.Context, a client.Attempt) {
			log.DebugContext(ctx, "request", "url", a.URL, "status", a.Status, "code", a.Code, "waited", a.Waited)
		},
	}
	p := pool.Config{
		OnEvent: func(e pool.Event) {
			if e.Kind == pool.ConnOpened && !e.Resumed {
				handshakes.Add(1)
			}
		},
	}
	return c, p
}

// servers resolves every question to the same server.
type servers []string

func (s servers) Resolve(context.Context, bootstrap.Question) (bootstrap.Answer, error) {
	return bootstrap.Answer{URLs: s, Source: bootstrap.SourceOverride}, nil
}

// demo starts a server and a client that queries it.
func demo(cfg rdaptest.Config) (*rdaptest.Server, *client.Client, func()) {
	s, err := rdaptest.New(cfg)
	if err != nil {
		log.Fatal(err)
	}
	p, err := pool.New(pool.Config{TLS: &tls.Config{RootCAs: s.Pool()}})
	if err != nil {
		log.Fatal(err)
	}
	c, err := client.New(client.Config{Transport: p, Resolver: servers{s.URL()}})
	if err != nil {
		log.Fatal(err)
	}
	return s, c, func() {
		c.Close()
		p.Close()
		s.Close()
	}
}

func Example_registrar() {
	s, c, done := demo(rdaptest.Config{})
	defer done()
	s.On("/domain/alpha.example", rdaptest.Body("application/rdap+json", `{"objectClassName": "domain", "ldhName": "alpha.example",
		"entities": [{"objectClassName": "entity", "roles": ["registrar"], "vcardArray": ["vcard", [["version", {}, "text", "4.0"], ["fn", {}, "text", "Moss and Gravel"]]]}]}`))
	for _, name := range []string{"alpha.example", "free.example"} {
		fmt.Println(registrar(context.Background(), c, name))
	}
	_, err := registrar(context.Background(), c, "no name")
	fmt.Println(err != nil)
	// Output:
	// Moss and Gravel <nil>
	//  <nil>
	// true
}

func Example_isTaken() {
	s, c, done := demo(rdaptest.Config{})
	defer done()
	s.On("/domain/busy.example", rdaptest.Status(429), rdaptest.RetryAfter("3600"))
	s.On("/domain/broken.example", rdaptest.Body("text/html", "<html>maintenance</html>"))
	for _, name := range []string{"alpha.example", "free.example", "broken.example", "busy.example"} {
		taken, err := isTaken(context.Background(), c, name)
		e, _ := errors.AsType[*client.Error](err)
		switch {
		case err == nil:
			fmt.Println(name, taken)
		case e.Code == client.CodeRateLimited:
			fmt.Println(name, explain(err))
		default:
			fmt.Println(name, e.Code, explain(err) != "")
		}
	}
	fmt.Println(explain(os.ErrNotExist))
	fmt.Println(explain(&client.Error{Code: client.CodeTimeout}))
	// Output:
	// alpha.example true
	// free.example false
	// broken.example not_rdap true
	// busy.example try again in 1h0m0s
	// file does not exist
	// try again later
}

func Example_lookupDomain() {
	_, c, done := demo(rdaptest.Config{})
	defer done()
	for _, name := range []string{"alpha.example", "free.example"} {
		d, err := lookupDomain(context.Background(), c, name)
		if err != nil {
			fmt.Println(name, err)
			continue
		}
		fmt.Println(d.LDHName, d.Status[0])
	}
	// Output:
	// ALPHA.EXAMPLE client delete prohibited
	// free.example no such domain
}

func Example_printContacts() {
	s, c, done := demo(rdaptest.Config{})
	defer done()
	s.On("/domain/alpha.example", rdaptest.Body("application/rdap+json", `{"objectClassName": "domain", "ldhName": "alpha.example",
		"entities": [{"objectClassName": "entity", "roles": ["registrant"], "vcardArray": ["vcard", [["version", {}, "text", "4.0"], ["fn", {}, "text", "Ada"], ["email", {}, "text", "ada@holders.example"]]]}]}`))
	q, err := client.Parse("alpha.example")
	if err != nil {
		log.Fatal(err)
	}
	r, err := c.Lookup(context.Background(), q)
	if err != nil {
		log.Fatal(err)
	}
	if err := printContacts(r); err != nil {
		log.Fatal(err)
	}
	// Output: [registrant] Ada [ada@holders.example]
}

func Example_printVerdicts() {
	_, c, done := demo(rdaptest.Config{})
	defer done()
	err := printVerdicts(context.Background(), c, []string{"alpha.example", "free.example", "192.0.2.1", "no name"})
	if err != nil {
		fmt.Println(err)
	}
	// Unordered output:
	// 1 alpha.example registered
	// 2 free.example not_found
	// 3 192.0.2.1 found
	// 4 no name invalid "no name": the name contains a space or control character
}

func Example_writeVerdicts() {
	_, c, done := demo(rdaptest.Config{})
	defer done()
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "out.ndjson")
	for range 2 { // the second time, there is nothing to look up
		if err := writeVerdicts(context.Background(), c, []string{"alpha.example", "free.example"}, path); err != nil {
			log.Fatal(err)
		}
	}
	rows, err := os.ReadFile(path)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s", rows)
	// Unordered output:
	// {"line":1,"verdict":"registered"}
	// {"line":2,"verdict":"not_found"}
}

func Example_printMatches() {
	objects := make([]rdaptest.Object, 0, 3)
	for n := range 3 {
		objects = append(objects, rdaptest.Object{Class: "domain", Name: fmt.Sprintf("exam%d.example", n+1)})
	}
	s, c, done := demo(rdaptest.Config{Searches: &rdaptest.Searches{Objects: objects, PageSize: 2}})
	defer done()
	if err := printMatches(context.Background(), c, s.URL(), "exam*.example"); err != nil {
		log.Fatal(err)
	}
	// Output:
	// 1 exam1.example
	// 1 exam2.example
	// 2 exam3.example
}

func Example_newClient() {
	s, err := rdaptest.New(rdaptest.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	for range 2 {
		c, closeAll, err := newClient(dir, &tls.Config{RootCAs: s.Pool()}, servers{s.URL()})
		if err != nil {
			log.Fatal(err)
		}
		taken, err := isTaken(context.Background(), c, "alpha.example")
		fmt.Println(taken, err)
		if err := closeAll(); err != nil {
			log.Fatal(err)
		}
	}
	counts := s.Counts()
	fmt.Println(counts.FullHandshakes, "full,", counts.Resumed, "resumed")
	// Output:
	// true <nil>
	// true <nil>
	// 1 full, 1 resumed
}

func Example_newResolver() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	r, err := newResolver(dir)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.Close()) // nothing was resolved, so nothing is fetched
	// Output: <nil>
}

func Example_getThree() {
	s, err := rdaptest.New(rdaptest.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	var handshakes atomic.Int64
	_, cfg := watch(slog.New(slog.DiscardHandler), &handshakes)
	cfg.TLS = &tls.Config{RootCAs: s.Pool()}
	p, err := pool.New(cfg)
	if err != nil {
		log.Fatal(err)
	}
	u := s.URL() + "domain/"
	if err := getThree(&http.Client{Transport: p}, [3]string{u + "a.example", u + "b.example", u + "c.example"}); err != nil {
		log.Fatal(err)
	}
	stats := p.Stats()
	if err := p.Close(); err != nil { // waits for the calls of OnEvent
		log.Fatal(err)
	}
	fmt.Println(stats.Connections, stats.Handshakes.Full, stats.Handshakes.Avoided, handshakes.Load())
	// Output: 1 1 2 1
}

func Example_watch() {
	s, err := rdaptest.New(rdaptest.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	for _, name := range []string{"busy", "busier"} { // two refusals in a row are a quota
		s.On("/domain/"+name+".example", rdaptest.Status(429), rdaptest.RetryAfter("3600"))
	}
	var text lines
	var handshakes atomic.Int64
	cfg, poolConfig := watch(slog.New(slog.NewTextHandler(&text, nil)), &handshakes)
	poolConfig.TLS = &tls.Config{RootCAs: s.Pool()}
	p, err := pool.New(poolConfig)
	if err != nil {
		log.Fatal(err)
	}
	defer p.Close()
	cfg.Transport, cfg.Resolver = p, servers{s.URL()}
	c, err := client.New(cfg)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	for _, name := range []string{"busy.example", "busier.example"} {
		_, err = isTaken(context.Background(), c, name)
		fmt.Println(err != nil, text.n.Load())
	}
	// Output:
	// true 0
	// true 1
}

// lines counts the writes to it.
type lines struct{ n atomic.Int64 }

func (l *lines) Write(b []byte) (int, error) {
	l.n.Add(1)
	return len(b), nil
}

func Example_expiry() {
	at, err := expiry([]byte(`{"objectClassName": "domain", "events": [{"eventAction": "expiration", "eventDate": "2029-07-13T12:00:00Z"}]}`))
	fmt.Println(at, err)
	_, err = expiry([]byte(`<html>`))
	_, ok := errors.AsType[*rdap.FormatError](err)
	fmt.Println(ok)
	// Output:
	// 2029-07-13 12:00:00 +0000 UTC <nil>
	// true
}
