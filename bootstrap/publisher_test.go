package bootstrap

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path"
	"strings"
	"sync"
	"testing"
	"time"
)

// A publisher serves registry files on loopback, as IANA does, and counts the
// requests.
type publisher struct {
	*httptest.Server

	mu       sync.Mutex
	files    map[string]string
	header   map[string]string
	status   int
	gate     chan struct{} // requests wait for the channel if it is not nil
	gets     map[string]int
	requests []http.Header
}

func newPublisher(t testing.TB, files map[string]string) *publisher {
	p := &publisher{files: files, header: map[string]string{"Cache-Control": "max-age=3600"}, gets: make(map[string]int)}
	p.Server = httptest.NewServer(p)
	t.Cleanup(p.Close)
	return p
}

// newIANA returns a publisher that represents IANA, and a client that connects to it for
// [DefaultBaseURL].
func newIANA(t testing.TB, files map[string]string) (*publisher, *http.Client) {
	p := &publisher{header: map[string]string{"Cache-Control": "max-age=3600"}, gets: make(map[string]int), files: files}
	p.Server = httptest.NewTLSServer(p)
	t.Cleanup(p.Close)
	tr := p.Client().Transport.(*http.Transport).Clone()
	tr.TLSClientConfig.ServerName = "example.com" // the name in httptest's certificate
	tr.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, p.Listener.Addr().String())
	}
	t.Cleanup(tr.CloseIdleConnections)
	return p, &http.Client{Transport: tr}
}

func (p *publisher) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	p.mu.Lock()
	name := strings.TrimPrefix(req.URL.Path, "/")
	p.gets[name]++
	p.requests = append(p.requests, req.Header.Clone())
	gate, status, body := p.gate, p.status, p.files[path.Base(name)]
	for k, v := range p.header {
		w.Header().Set(k, v)
	}
	p.mu.Unlock()
	if gate != nil {
		select {
		case <-gate:
		case <-req.Context().Done():
			return
		}
	}
	if status != 0 {
		w.WriteHeader(status)
		return
	}
	http.ServeContent(w, req, "", time.Time{}, strings.NewReader(body))
}

func (p *publisher) set(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
}

func (p *publisher) count() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.gets)
}

// last returns the header of the last request.
func (p *publisher) last() http.Header {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.requests[len(p.requests)-1]
}

// A clock is a clock whose time tests set.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func newClock() *clock { return &clock{t: time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

// A listener collects warnings.
type listener struct {
	mu  sync.Mutex
	all []string
}

func (l *listener) warn(s string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, s)
}

func (l *listener) heard() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.all...)
}

// dns returns a dns.json with one service per suffix, at
// https://<label><suffix>.invalid/.
func dns(label string, suffixes ...string) string {
	var b strings.Builder
	b.WriteString(`{"version":"1.0","publication":"2026-01-01T00:00:00Z","services":[`)
	for i, s := range suffixes {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `[[%q],["https://%s%s.invalid/"]]`, s, label, s)
	}
	return b.String() + "]}"
}

// tags returns an object-tags.json with a service per tag.
func tags(all ...string) string {
	var list []string
	for _, tag := range all {
		list = append(list, fmt.Sprintf(`[["x@%s.invalid"],[%q],["https://%s.invalid/"]]`, tag, tag, tag))
	}
	return services(strings.Join(list, ","))
}

// services returns a registry file with the given services.
func services(text string) string {
	return `{"version":"1.0","publication":"2026-01-01T00:00:00Z","services":[` + text + `]}`
}

// wholeSet returns a file per registry, with entries that the snapshot lacks.
func wholeSet() map[string]string {
	return map[string]string{
		"dns.json":         dns("", "zz"),
		"ipv4.json":        services(`[["240.0.0.0/8"],["https://rir4.invalid/"]]`),
		"ipv6.json":        services(`[["2001:db8::/32"],["https://rir6.invalid/"]]`),
		"asn.json":         services(`[["64496-64511"],["https://as.invalid/"]]`),
		"object-tags.json": services(`[["a@b.invalid"],["TESTRIR"],["https://tag.invalid/"]]`),
	}
}

func newResolver(t testing.TB, c Config) *Resolver {
	t.Helper()
	r, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func domain(name string) Question { return Question{For: ForDomain, Name: name} }

func address(text string) Question {
	p, err := netip.ParsePrefix(text)
	if err != nil {
		a := netip.MustParseAddr(text)
		p = netip.PrefixFrom(a, a.BitLen())
	}
	return Question{For: ForAddress, Prefix: p}
}

func autnum(n uint32) Question { return Question{For: ForAutnum, Autnum: n} }

func entity(handle string) Question { return Question{For: ForEntity, Name: handle} }

// resolve returns "source entry urls", or the error.
func resolve(r *Resolver, q Question) string {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	a, err := r.Resolve(ctx, q)
	if err != nil {
		return "error: " + err.Error()
	}
	return fmt.Sprint(a.Source, " ", a.Entry, " ", strings.Join(a.URLs, " "))
}

func wantResolve(t *testing.T, r *Resolver, q Question, want string) {
	t.Helper()
	if got := resolve(r, q); got != want {
		t.Errorf("%+v:\n got %s\nwant %s", q, got, want)
	}
}

func wait(t *testing.T, r *Resolver) {
	t.Helper()
	if err := r.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
}
