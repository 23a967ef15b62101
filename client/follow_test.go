package client_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rdapq/rdapq/bootstrap"
	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/rdaptest"
)

// domainWith returns a response about a domain with these links, each "rel type href".
func domainWith(name string, links ...string) string {
	var list []string
	for _, l := range links {
		part := strings.SplitN(l, "|", 3)
		list = append(list, fmt.Sprintf(`{"rel":%q,"type":%q,"href":%q}`, part[0], part[1], part[2]))
	}
	return fmt.Sprintf(`{"objectClassName":"domain","ldhName":%q,"status":["active"],"links":[%s]}`, name, strings.Join(list, ","))
}

const rdapJSON = "application/rdap+json"

// askedFor returns the paths requested from a server, in order.
func askedFor(s *rdaptest.Server) []string {
	var list []string
	for _, e := range s.Log() {
		list = append(list, e.URI)
	}
	return list
}

func wantURIs(t *testing.T, s *rdaptest.Server, want ...string) {
	t.Helper()
	if got := askedFor(s); !slices.Equal(got, want) {
		t.Errorf("%s was asked for %q, want %q", s.Addr(), got, want)
	}
}

// newReferrer starts a registry and a registrar. It returns them with a client that sends
// every query to the registry and follows referrals.
func newReferrer(t *testing.T, protocols rdaptest.Protocols, cfg client.Config) (registry, registrar *rdaptest.Server, a asker) {
	t.Helper()
	return newNetworkReferrer(t, nil, protocols, cfg)
}

// newNetworkReferrer is like newReferrer, with the servers in network, unless it is nil.
func newNetworkReferrer(t *testing.T, network *rdaptest.Network, protocols rdaptest.Protocols, cfg client.Config) (registry, registrar *rdaptest.Server, a asker) {
	t.Helper()
	ca := newCA(t)
	config := rdaptest.Config{CA: ca, Network: network, Log: true, Protocols: protocols}
	registry, registrar = rdaptest.Start(t, config), rdaptest.Start(t, config)
	if cfg.Resolver == nil {
		cfg.Resolver = urls{registry.URL()}
	}
	if cfg.Referral == "" {
		cfg.Referral = client.ReferralRegistrar
	}
	return registry, registrar, newNetworkAsker(t, network, ca, cfg)
}

// fixture returns a body with the registrar's host replaced.
func fixture(t *testing.T, name, from, to string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "rdap", "testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(raw), from, to)
}

func TestReferral(t *testing.T) {
	for _, protocols := range []rdaptest.Protocols{rdaptest.H1Only, rdaptest.H2Only} {
		registry, registrar, a := newReferrer(t, protocols, client.Config{})
		registry.On("/domain/harbour.example", rdaptest.JSON(fixture(t, "registry-thin.json", "https://rdap.lighthouse.example/", registrar.URL())))
		registrar.On("/domain/HARBOUR.EXAMPLE", rdaptest.JSON(fixture(t, "registrar-redacted.json", "https://rdap.lighthouse.example/", registrar.URL())))
		r := a.lookup(t, mustParse(t, "", "harbour.example"))
		if r.Verdict != client.VerdictRegistered || r.Server != registry.URL() || r.Attempts != 1 || len(r.Warnings) > 0 {
			t.Errorf("registry: %s at %s", describe(r), r.Server)
		}
		g := r.Registrar
		if g == nil {
			t.Fatal("the registrar was not asked")
		}
		checkResult(t, g)
		if g.Verdict != client.VerdictRegistered || g.Status != 200 || g.Server != registrar.URL() || g.URL != registrar.URL()+"domain/HARBOUR.EXAMPLE" ||
			g.Source != bootstrap.SourceReferral || g.Attempts != 1 || g.Registrar != nil || len(g.Raw) == 0 || g.Conn.ConnID == 0 {
			t.Errorf("registrar: %s at %s, %s, %s, %d attempts", describe(g), g.Server, g.URL, g.Source, g.Attempts)
		}
		if s := r.Summary(); s.Name != "harbour.example" || len(s.Nameservers) == 0 {
			t.Errorf("summary %+v", s)
		}
		wantURIs(t, registry, "/domain/harbour.example")
		wantURIs(t, registrar, "/domain/HARBOUR.EXAMPLE")
	}
}

func TestReferralModes(t *testing.T) {
	registry, registrar, a := newReferrer(t, rdaptest.H1AndH2, client.Config{Referral: client.ReferralNone})
	registry.On("*", rdaptest.JSON(domainWith("alpha.example", "related|"+rdapJSON+"|"+registrar.URL()+"domain/alpha.example")))
	q := mustParse(t, "", "alpha.example")
	if r := a.lookup(t, q); r.Registrar != nil {
		t.Error("asked although nobody wanted that")
	}
	q.Referral = client.ReferralRegistrar
	if r := a.lookup(t, q); r.Registrar == nil {
		t.Error("not asked although the query says so")
	}
	wantURIs(t, registrar, "/domain/alpha.example")

	// Only a registered domain has a registrar.
	registry.On("/domain/free.example", rdaptest.Status(404), rdaptest.JSON(domainWith("free.example", "related|"+rdapJSON+"|"+registrar.URL())))
	registry.On("/ip/192.0.2.1", rdaptest.JSON(`{"objectClassName":"ip network","links":[{"rel":"related","type":"application/rdap+json","href":"`+registrar.URL()+`"}]}`))
	a = newAsker(t, registry.CA(), client.Config{Resolver: urls{registry.URL()}, Referral: client.ReferralRegistrar})
	for _, text := range []string{"free.example", "192.0.2.1", "2.0.192.in-addr.arpa"} {
		if r := a.lookup(t, mustParse(t, "", text)); r.Registrar != nil {
			t.Errorf("%s: a registrar was asked", text)
		}
	}
}

// Each of several records that link to each other is requested once.
func TestReferralLoop(t *testing.T) {
	for _, back := range []string{"domain/alpha.example/", "domain/ALPHA.EXAMPLE", "domain/%61lpha.example", "../domain/alpha.example"} {
		ca := newCA(t)
		s := rdaptest.Start(t, rdaptest.Config{CA: ca, Log: true})
		a := newAsker(t, ca, client.Config{Resolver: urls{s.URL()}, Referral: client.ReferralRegistrar})
		s.On("/domain/alpha.example", rdaptest.JSON(domainWith("alpha.example",
			"self|"+rdapJSON+"|"+s.URL()+"domain/alpha.example",
			"related|"+rdapJSON+"|"+s.URL()+"b/domain/ALPHA.EXAMPLE",
			"related|"+rdapJSON+"|"+strings.ToUpper(s.URL())+"b/domain/alpha.example/")))
		href := s.URL() + back
		if strings.HasPrefix(back, "..") {
			href = "../" + back
		}
		s.On("/b/domain/ALPHA.EXAMPLE", rdaptest.JSON(domainWith("alpha.example", "related|"+rdapJSON+"|"+href)))
		r := a.lookup(t, mustParse(t, "", "alpha.example"))
		wantURIs(t, s, "/domain/alpha.example", "/b/domain/ALPHA.EXAMPLE")
		if r.Verdict != client.VerdictRegistered || r.Registrar == nil || r.Registrar.Verdict != client.VerdictRegistered || r.Registrar.Registrar != nil {
			t.Errorf("%s: %s, registrar %+v", back, describe(r), r.Registrar)
		}
		if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0].Message, "loop in related links") {
			t.Errorf("%s: warnings %q", back, r.Warnings)
		}
	}
}

// A link that is not to an RDAP record of the registrar is not followed.
func TestReferralOnlyRDAP(t *testing.T) {
	registry, registrar, a := newReferrer(t, rdaptest.H1AndH2, client.Config{})
	base := registrar.URL()
	registry.On("*", rdaptest.JSON(domainWith("alpha.example",
		"related|text/html|"+base+"portal",
		"related||"+base+"portal2",
		"RELATED|application/rdap+json; charset=utf-8|"+base+"rr/domain/alpha.example",
		"help||"+base+"help",
		"about|"+rdapJSON+"|"+base+"about")))
	if r := a.lookup(t, mustParse(t, "", "alpha.example")); r.Registrar == nil || r.Registrar.Verdict != client.VerdictRegistered {
		t.Errorf("%s, registrar %+v", describe(r), r.Registrar)
	}
	wantURIs(t, registrar, "/rr/domain/alpha.example")
	wantURIs(t, registry, "/domain/alpha.example")
}

func TestReferralForms(t *testing.T) {
	registry, registrar, a := newReferrer(t, rdaptest.H1AndH2, client.Config{})
	for _, tt := range []struct{ href, want string }{
		{"BASE", "/domain/alpha.example"},
		{"BASErdap/v1", "/rdap/v1/domain/alpha.example"},
		{"BASErdap/v1/domain/", "/rdap/v1/domain/alpha.example"},
		{"//HOST/rdap/domain/ALPHA.EXAMPLE", "/rdap/domain/ALPHA.EXAMPLE"},
		{"BASEdomain/alpha%2Eexample?key=1#top", "/domain/alpha%2Eexample?key=1"},
	} {
		href := strings.NewReplacer("BASE", registrar.URL(), "HOST", registrar.Addr()).Replace(tt.href)
		registry.On("*", rdaptest.JSON(domainWith("ALPHA.EXAMPLE", "related alternate|"+rdapJSON+"|"+href)))
		r := a.lookup(t, mustParse(t, "", "alpha.example"))
		if r.Registrar == nil || r.Registrar.Verdict != client.VerdictRegistered {
			t.Errorf("%s: %s, registrar %+v", tt.href, describe(r), r.Registrar)
			continue
		}
		if all := askedFor(registrar); all[len(all)-1] != tt.want {
			t.Errorf("%s: asked for %s, want %s", tt.href, all[len(all)-1], tt.want)
		}
		if strings.Contains(r.Registrar.URL, "key=1") {
			t.Errorf("%s: key in %s", tt.href, r.Registrar.URL)
		}
	}
	// The link is relative to the URL of the registry's response.
	registry.On("/domain/alpha.example", rdaptest.JSON(domainWith("alpha.example", "related|"+rdapJSON+"|/rr/domain/alpha.example")))
	registry.On("/rr/domain/alpha.example", rdaptest.JSON(domainWith("alpha.example")))
	if r := a.lookup(t, mustParse(t, "", "alpha.example")); r.Registrar == nil || r.Registrar.URL != registry.URL()+"rr/domain/alpha.example" {
		t.Errorf("relative: %+v", r.Registrar)
	}
}

// The registry's result does not depend on the registrar's response, and a registrar that fails
// gets no further requests.
func TestReferralFails(t *testing.T) {
	t.Parallel() // the test mostly waits
	html := rdaptest.Body("text/html", "<html><title>nothing here</title></html>")
	for _, tt := range []struct {
		name     string
		how      []rdaptest.Behaviour
		verdict  client.Verdict
		code     client.Code
		status   int
		requests int
	}{
		{"404", []rdaptest.Behaviour{rdaptest.Status(404)}, client.VerdictNotFound, client.CodeNotFound, 404, 1},
		{"404 as a page", []rdaptest.Behaviour{rdaptest.Status(404), html}, client.VerdictNotFound, client.CodeNotFound, 404, 1},
		{"429", []rdaptest.Behaviour{rdaptest.Status(429)}, client.VerdictRateLimited, client.CodeRateLimited, 429, 1},
		{"429 for a while", []rdaptest.Behaviour{rdaptest.Status(429), rdaptest.RetryAfter("1")}, client.VerdictRateLimited, client.CodeRateLimited, 429, 1},
		{"403", []rdaptest.Behaviour{rdaptest.Status(403)}, client.VerdictRejected, client.CodeForbidden, 403, 1},
		{"400", []rdaptest.Behaviour{rdaptest.Status(400)}, client.VerdictRejected, client.CodeBadRequest, 400, 1},
		{"500", []rdaptest.Behaviour{rdaptest.Status(500)}, client.VerdictFailed, client.CodeServerError, 500, 1},
		{"503", []rdaptest.Behaviour{rdaptest.Status(503)}, client.VerdictFailed, client.CodeServerError, 503, 1},
		{"page", []rdaptest.Behaviour{html}, client.VerdictFailed, client.CodeNotRDAP, 200, 1},
		{"empty", []rdaptest.Behaviour{rdaptest.NoBody()}, client.VerdictFailed, client.CodeNotRDAP, 200, 1},
		{"too large", []rdaptest.Behaviour{rdaptest.Size(1 << 20)}, client.VerdictFailed, client.CodeTooLarge, 200, 1},
		{"broken off", []rdaptest.Behaviour{rdaptest.Cut(20)}, client.VerdictFailed, client.CodeTransport, 200, 2},
		{"broken off once", []rdaptest.Behaviour{rdaptest.First(1, rdaptest.Cut(20))}, client.VerdictRegistered, "", 200, 2},
		{"entity", []rdaptest.Behaviour{rdaptest.JSON(`{"objectClassName":"entity","handle":"7"}`)}, client.VerdictFound, "", 200, 1},
		{"http", []rdaptest.Behaviour{rdaptest.Redirect(302, "http://127.0.0.1:1/")}, client.VerdictFailed, client.CodeRedirect, 302, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			registry, registrar, a := newReferrer(t, rdaptest.H1AndH2, client.Config{MaxBody: 64 << 10, Attempts: 5})
			registry.On("*", rdaptest.JSON(domainWith("alpha.example", "related|"+rdapJSON+"|"+registrar.URL())))
			registrar.On("*", tt.how...)
			r := a.lookup(t, mustParse(t, "", "alpha.example"))
			if r.Verdict != client.VerdictRegistered || r.Status != 200 || client.ErrorOf(r) != nil || len(r.Raw) == 0 || len(r.Warnings) > 0 {
				t.Errorf("the registry's answer suffered: %s", describe(r))
			}
			g := r.Registrar
			if g == nil {
				t.Fatal("no result of the registrar")
			}
			checkResult(t, g)
			code := client.Code("")
			if client.ErrorOf(g) != nil {
				code = client.ErrorOf(g).Code
			}
			if g.Verdict != tt.verdict || code != tt.code || g.Status != tt.status {
				t.Errorf("%s, want %s %s %d", describe(g), tt.verdict, tt.code, tt.status)
			}
			if n := len(askedFor(registrar)); n != tt.requests || g.Attempts != tt.requests {
				t.Errorf("%d requests, %d attempts, want %d", n, g.Attempts, tt.requests)
			}
		})
	}
	t.Run("refused", func(t *testing.T) {
		registry, _, a := newReferrer(t, rdaptest.H1AndH2, client.Config{})
		registry.On("*", rdaptest.JSON(domainWith("alpha.example", "related|"+rdapJSON+"|"+refused)))
		r := a.lookup(t, mustParse(t, "", "alpha.example"))
		if g := r.Registrar; r.Verdict != client.VerdictRegistered || g == nil || client.ErrorOf(g).Code != client.CodeRefused || g.Attempts != 1 {
			t.Errorf("%s, registrar %+v", describe(r), g)
		}
	})
	t.Run("plain http", func(t *testing.T) {
		registry, _, a := newReferrer(t, rdaptest.H1AndH2, client.Config{})
		registry.On("*", rdaptest.JSON(domainWith("alpha.example", "related|"+rdapJSON+"|http://rdap.registrar.example/")))
		r := a.lookup(t, mustParse(t, "", "alpha.example"))
		if g := r.Registrar; r.Verdict != client.VerdictRegistered || g == nil || client.ErrorOf(g).Code != client.CodeHTTPOnly || g.Attempts != 0 {
			t.Errorf("%s, registrar %+v", describe(r), g)
		}
	})
}

// A registrar that redirects to the registry has no record of its own.
func TestReferralBackToRegistry(t *testing.T) {
	registry, registrar, a := newReferrer(t, rdaptest.H1AndH2, client.Config{})
	registry.On("*", rdaptest.JSON(domainWith("alpha.example", "related|"+rdapJSON+"|"+registrar.URL())))
	registrar.On("*", rdaptest.Redirect(302, registry.URL()+"domain/ALPHA.example"))
	r := a.lookup(t, mustParse(t, "", "alpha.example"))
	if g := r.Registrar; r.Verdict != client.VerdictRegistered || g == nil || g.Verdict != client.VerdictFailed || client.ErrorOf(g).Code != client.CodeRedirect || g.Raw != nil {
		t.Errorf("%s, registrar %+v", describe(r), g)
	}
	wantURIs(t, registrar, "/domain/alpha.example")
	wantURIs(t, registry, "/domain/alpha.example", "/domain/ALPHA.example")
}

// Several links may point to the same record. Only the links up to the first that yields the
// record are followed.
func TestReferralNextWay(t *testing.T) {
	registry, registrar, a := newReferrer(t, rdaptest.H1AndH2, client.Config{})
	var links []string
	for _, path := range []string{"gone/", "good/", "other/"} {
		links = append(links, "related|"+rdapJSON+"|"+registrar.URL()+path)
	}
	registry.On("*", rdaptest.JSON(domainWith("alpha.example", links...)))
	registrar.On("/gone/*", rdaptest.Status(404))
	r := a.lookup(t, mustParse(t, "", "alpha.example"))
	if r.Registrar == nil || r.Registrar.Server != registrar.URL()+"good/" {
		t.Errorf("%s, registrar %+v", describe(r), r.Registrar)
	}
	wantURIs(t, registrar, "/gone/domain/alpha.example", "/good/domain/alpha.example")
}

func TestReferralDepth(t *testing.T) {
	for depth, want := range map[int]int{0: client.DefaultReferralDepth, 1: 1, 2: 2} {
		registry, registrar, a := newReferrer(t, rdaptest.H1AndH2, client.Config{ReferralDepth: depth})
		next := func(i int) string { return fmt.Sprintf("related|%s|%s%d/", rdapJSON, registrar.URL(), i) }
		registry.On("*", rdaptest.JSON(domainWith("alpha.example", next(1))))
		for i := range 9 {
			registrar.On(fmt.Sprintf("/%d/*", i), rdaptest.JSON(domainWith("alpha.example", next(i+1))))
		}
		r := a.lookup(t, mustParse(t, "", "alpha.example"))
		if n := len(askedFor(registrar)); n != want {
			t.Errorf("depth %d: %d requests, want %d", depth, n, want)
		}
		records := 0
		for g := r.Registrar; g != nil; g = g.Registrar {
			records++
		}
		if records != want || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0].Message, "chain of related links longer than ") {
			t.Errorf("depth %d: %d records, warnings %q", depth, records, r.Warnings)
		}
	}
}

// Without a link, the registrar's IANA number identifies its server.
func TestReferralByNumber(t *testing.T) {
	body := func(links ...string) string {
		return strings.TrimSuffix(domainWith("alpha.example", links...), "}") +
			`,"entities":[{"roles":["registrar"],"publicIds":[{"type":"Registry ID","identifier":"7"},{"type":"IANA Registrar ID","identifier":"990001"}]}]}`
	}
	registry, registrar, a := newReferrer(t, rdaptest.H1AndH2, client.Config{})
	registry.On("*", rdaptest.JSON(body("self|"+rdapJSON+"|"+registry.URL()+"domain/alpha.example")))
	if r := a.lookup(t, mustParse(t, "", "alpha.example")); r.Registrar != nil {
		t.Errorf("nobody knows it: %+v", r.Registrar)
	}
	ask := func(table map[string]string) *client.Result {
		b := newAsker(t, registry.CA(), client.Config{Resolver: urls{registry.URL()}, Referral: client.ReferralRegistrar, RegistrarURLs: table})
		return b.lookup(t, mustParse(t, "", "alpha.example"))
	}
	table := map[string]string{"990001": registrar.URL() + "rdap", "7": registrar.URL() + "wrong"}
	r := ask(table)
	if g := r.Registrar; g == nil || g.Verdict != client.VerdictRegistered || g.Source != bootstrap.SourceOverride || g.Entry != "IANA registrar 990001" {
		t.Errorf("registrar %+v", g)
	}
	wantURIs(t, registrar, "/rdap/domain/alpha.example")
	if r := ask(map[string]string{"990001": ""}); r.Registrar != nil {
		t.Errorf("switched off: %+v", r.Registrar)
	}
	// A link takes precedence, except a link to the registry's own record.
	registry.On("*", rdaptest.JSON(body("related|"+rdapJSON+"|"+registry.URL()+"domain/alpha.example/")))
	if r := ask(table); r.Registrar == nil || r.Registrar.Source != bootstrap.SourceOverride {
		t.Errorf("link to itself: %+v", r.Registrar)
	}
	registry.On("*", rdaptest.JSON(body("related|"+rdapJSON+"|"+registrar.URL()+"linked/")))
	if r := ask(table); r.Registrar == nil || r.Registrar.Source != bootstrap.SourceReferral {
		t.Errorf("link: %+v", r.Registrar)
	}
	wantURIs(t, registrar, "/rdap/domain/alpha.example", "/rdap/domain/alpha.example", "/linked/domain/alpha.example")
}

// The clock is that of a bubble: on a loaded machine, net/http closes an HTTP/1.1 connection
// whose request was written late, and there are more connections.
func TestReferralBatch(t *testing.T) {
	for name, protocols := range map[string]rdaptest.Protocols{"HTTP/1.1": rdaptest.H1Only, "HTTP/2": rdaptest.H2Only} {
		bubble(t, name, func(t *testing.T) { testReferralBatch(t, protocols) })
	}
}

func testReferralBatch(t *testing.T, protocols rdaptest.Protocols) {
	const names = 200
	registry, registrar, a := newNetworkReferrer(t, new(rdaptest.Network), protocols, client.Config{Jobs: 16, PerHost: 4, MaxMemory: 1 << 20})
	registrar.On("/bad/*", rdaptest.Status(404))
	var texts []string
	for i := range names {
		name := fmt.Sprintf("name%d.example", i)
		texts = append(texts, name)
		path := "good/"
		if i%3 == 0 {
			path = "bad/"
		}
		registry.On("/domain/"+name, rdaptest.JSON(domainWith(name, "related|"+rdapJSON+"|"+registrar.URL()+path)))
	}
	texts = append(texts, texts...) // duplicates share the registrar's record too
	seen := make(map[int64]bool)
	for r := range a.Batch(t.Context(), lines(texts...)).All() {
		checkResult(t, r)
		if seen[r.Line] || r.Query.Text != texts[r.Line-1] || r.Verdict != client.VerdictRegistered {
			t.Errorf("line %d: %s for %s", r.Line, describe(r), r.Query.Text)
		}
		seen[r.Line] = true
		want := client.VerdictRegistered
		if (r.Line-1)%names%3 == 0 {
			want = client.VerdictNotFound
		}
		g := r.Registrar
		if g == nil || g.Verdict != want || !strings.HasSuffix(g.URL, "/domain/"+r.Query.Name) {
			t.Errorf("line %d: registrar %+v", r.Line, g)
		}
	}
	if len(seen) != 2*names {
		t.Errorf("%d results", len(seen))
	}
	for _, s := range []*rdaptest.Server{registry, registrar} {
		if n := s.Counts().Connections; n > 4 {
			t.Errorf("%d connections", n)
		}
		paths := askedFor(s)
		slices.Sort(paths)
		if n := len(slices.Compact(paths)); n != names {
			t.Errorf("%d different requests", n)
		}
	}
}

// A canceled batch still yields the registries' responses.
func TestReferralBatchEnds(t *testing.T) {
	registry, registrar, a := newReferrer(t, rdaptest.H1AndH2, client.Config{Jobs: 4})
	registry.On("*", rdaptest.JSON(domainWith("alpha.example", "related|"+rdapJSON+"|"+registrar.URL())))
	registrar.On("*", rdaptest.Hang())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		defer cancel()
		if err := registrar.AwaitRequests(ctx, 1); err != nil {
			t.Error(err)
		}
	}()
	count := 0
	for r := range a.Batch(ctx, lines("alpha.example")).All() {
		count++
		if r.Verdict != client.VerdictRegistered || r.Registrar == nil || client.ErrorOf(r.Registrar).Code != client.CodeCanceled {
			t.Errorf("%s, registrar %+v", describe(r), r.Registrar)
		}
	}
	if count != 1 {
		t.Errorf("%d results", count)
	}
}

// After two refusals, a registrar gets no further requests from the batch.
func TestReferralThrottled(t *testing.T) {
	registry, registrar, a := newReferrer(t, rdaptest.H1AndH2, client.Config{Jobs: 1, MaxWait: -1})
	registrar.On("*", rdaptest.Status(429), rdaptest.RetryAfter("3600"))
	var texts []string
	for i := range 20 {
		name := fmt.Sprintf("name%d.example", i)
		texts = append(texts, name)
		registry.On("/domain/"+name, rdaptest.JSON(domainWith(name, "related|"+rdapJSON+"|"+registrar.URL())))
	}
	for r := range a.Batch(t.Context(), lines(texts...)).All() {
		if r.Verdict != client.VerdictRegistered || r.Registrar == nil || r.Registrar.Verdict != client.VerdictRateLimited {
			t.Errorf("%s, registrar %+v", describe(r), r.Registrar)
		}
	}
	if n := len(askedFor(registrar)); n != 2 { // a single refusal does not count
		t.Errorf("%d requests to a registrar that said to come back in an hour", n)
	}
}

func TestRelated(t *testing.T) {
	s, a := newPair(t, rdaptest.Config{Log: true}, client.Config{
		Related: []client.Relation{client.RelationUp, client.RelationDown}, Referral: client.ReferralRegistrar,
	})
	link := func(rel, path string) string {
		return fmt.Sprintf(`{"rel":%q,"type":%q,"href":%q}`, rel, rdapJSON, s.URL()+path)
	}
	s.On("/ip/192.0.2.0/24", rdaptest.JSON(`{"objectClassName":"ip network","handle":"NET-24","startAddress":"192.0.2.0","endAddress":"192.0.2.255","links":[`+strings.Join([]string{
		link("self", "ip/192.0.2.0/24"), link("rdap-up rdap-active", "ip/192.0.0.0/16"), link("up", "ip/192.0.0.0%2F16"),
		link("rdap-down", "ips/rirSearch1/rdap-down/192.0.2.0/24"), link("top", "ip/192.0.0.0/8"),
	}, ",")+"]}"))
	s.On("/ips/*", rdaptest.JSON(`{"ipSearchResults":[{"objectClassName":"ip network","handle":"NET-25","startAddress":"192.0.2.0","endAddress":"192.0.2.127"}]}`))
	r := a.lookup(t, mustParse(t, "", "192.0.2.0/24"))
	wantURIs(t, s, "/ip/192.0.2.0/24", "/ip/192.0.0.0/16", "/ips/rirSearch1/rdap-down/192.0.2.0/24")
	if r.Verdict != client.VerdictFound || r.Registrar != nil || len(r.Related) != 2 {
		t.Fatalf("%s, %d related", describe(r), len(r.Related))
	}
	up, down := r.Related[0], r.Related[1]
	if up.Relation != client.RelationUp || up.Verdict != client.VerdictFound || up.Query.String() != "192.0.0.0/16" || len(up.Warnings) > 0 {
		t.Errorf("up: %s, %s", describe(up), up.Query)
	}
	rec, err := down.Record()
	if err != nil || down.Relation != client.RelationDown || down.Verdict != client.VerdictFound || len(down.Warnings) > 0 || len(rec.Results) != 1 {
		t.Errorf("down: %s, %v", describe(down), err)
	}
	for _, related := range r.Related {
		checkResult(t, related)
	}
}

// Credentials for the registry are not sent to the registrar.
func TestReferralCredentials(t *testing.T) {
	for _, scheme := range []client.AuthScheme{client.AuthBearer, client.AuthAPIKey} {
		ca := newCA(t)
		config := rdaptest.Config{CA: ca, Log: true}
		registry, registrar := rdaptest.Start(t, config), rdaptest.Start(t, config)
		registry.On("*", rdaptest.JSON(domainWith("alpha.example", "related|"+rdapJSON+"|"+registrar.URL())))
		a := newAsker(t, ca, client.Config{
			Resolver: urls{registry.URL()}, Referral: client.ReferralRegistrar,
			Credentials: map[string]*client.Credential{strings.TrimSuffix(registry.URL(), "/"): {Scheme: scheme, Name: "me", Secret: "hidden"}},
		})
		r := a.lookup(t, mustParse(t, "", "alpha.example"))
		if r.Registrar == nil || r.Registrar.Verdict != client.VerdictRegistered {
			t.Fatalf("%s: registrar %+v", scheme, r.Registrar)
		}
		told := func(s *rdaptest.Server) bool { return strings.Contains(fmt.Sprint(s.Log()), "hidden") }
		if !told(registry) || told(registrar) || strings.Contains(fmt.Sprint(r.URL, r.FinalURL, r.Registrar.URL), "hidden") {
			t.Errorf("%s: registry told %v, registrar told %v; %s", scheme, told(registry), told(registrar), r.FinalURL)
		}
	}
}

// A registrar that hangs delays the registry's response by less than a registry's own
// timeout.
func TestReferralTimeout(t *testing.T) {
	t.Parallel() // the test mostly waits
	registry, registrar, a := newReferrer(t, rdaptest.H1AndH2, client.Config{Timeout: time.Hour, ReferralTimeout: 2 * time.Second})
	registry.On("*", rdaptest.JSON(domainWith("alpha.example", "related|"+rdapJSON+"|"+registrar.URL())))
	registrar.On("*", rdaptest.Hang())
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := a.Lookup(ctx, mustParse(t, "", "alpha.example"))
	if err != nil || r.Verdict != client.VerdictRegistered || r.Registrar == nil || client.ErrorOf(r.Registrar).Code != client.CodeTimeout {
		t.Fatalf("%s, %v, registrar %+v", describe(r), err, r.Registrar)
	}
	if n := len(askedFor(registrar)); n != 1 || r.Registrar.Attempts != 1 {
		t.Errorf("%d requests, %d attempts", n, r.Registrar.Attempts)
	}
}
