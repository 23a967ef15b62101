package client_test

import (
	"crypto/tls"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/rdapq/rdapq/bootstrap"
	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/pool"
)

// newGuardedAsker returns a client whose pool connects only to public addresses and to
// the servers in public, which count as public.
func newGuardedAsker(t *testing.T, ca *rdaptest.CA, cfg client.Config, public map[string]*rdaptest.Server) asker {
	t.Helper()
	resolve := make(map[string][]netip.Addr)
	for name, s := range public {
		at := netip.MustParseAddrPort(s.Addr())
		resolve[hostPort(name, s)] = []netip.Addr{at.Addr()}
	}
	p, err := pool.New(pool.Config{TLS: &tls.Config{RootCAs: ca.Pool()}, Resolve: resolve})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	cfg.Transport = p
	return newAsker(t, ca, cfg)
}

// hostPort returns a name with the port of a server.
func hostPort(name string, s *rdaptest.Server) string {
	_, port, _ := net.SplitHostPort(s.Addr())
	return net.JoinHostPort(name, port)
}

// listedAs is a resolver that returns the same servers for every query, with the given
// source.
func listedAs(source bootstrap.Source, list ...string) resolverFunc {
	return func(bootstrap.Question) (bootstrap.Answer, error) {
		return bootstrap.Answer{Entry: "example", URLs: list, Source: source}, nil
	}
}

const registryName = "rdap.registry.example"

// The source of a server determines which addresses the server may have.
func TestTrustOfServers(t *testing.T) {
	inside := rdaptest.Start(t, rdaptest.Config{Log: true})
	q := mustParse(t, "", "alpha.example")
	for _, source := range []bootstrap.Source{bootstrap.SourceIANA, bootstrap.SourceSnapshot, bootstrap.SourceUnlisted, bootstrap.SourceReferral, ""} {
		a := newGuardedAsker(t, inside.CA(), client.Config{Resolver: listedAs(source, inside.URL())}, nil)
		r := a.lookup(t, q)
		if r.Verdict != client.VerdictFailed || client.ErrorOf(r).Code != client.CodeNotPublic || r.Attempts != 1 || !strings.Contains(client.ErrorOf(r).Message, "the bootstrap registry lists "+inside.Addr()) {
			t.Errorf("%q: %s", source, describe(r))
		}
	}
	if n := inside.Counts().Connections; n != 0 {
		t.Errorf("%d connections to what only this machine can reach", n)
	}
	own := newGuardedAsker(t, inside.CA(), client.Config{Resolver: listedAs(bootstrap.SourceOverride, inside.URL())}, nil)
	named, byURL := q, mustParse(t, "", inside.URL()+"domain/alpha.example")
	named.Server = inside.URL()
	listed := newGuardedAsker(t, inside.CA(), client.Config{Resolver: listedAs(bootstrap.SourceIANA, inside.URL())}, nil)
	for what, r := range map[string]*client.Result{
		"an override": own.lookup(t, q), "a named server": listed.lookup(t, named), "a URL": listed.lookup(t, byURL),
	} {
		if r.Verdict != client.VerdictRegistered {
			t.Errorf("%s: %s", what, describe(r))
		}
	}
	// The user's own server does not make the registry's server at the same address
	// acceptable.
	asked := inside.Counts().Requests
	if r := listed.lookup(t, q); r.Verdict != client.VerdictFailed || inside.Counts().Requests != asked {
		t.Errorf("on the connection that is there: %s", describe(r))
	}
}

// Of the servers of an entry, the client queries those at permitted addresses.
func TestTrustNextServer(t *testing.T) {
	ca := newCA(t)
	inside := rdaptest.Start(t, rdaptest.Config{CA: ca})
	outside := rdaptest.Start(t, rdaptest.Config{CA: ca, Names: []string{registryName}})
	public := map[string]*rdaptest.Server{registryName: outside}
	a := newGuardedAsker(t, ca, client.Config{Resolver: listedAs(bootstrap.SourceIANA, inside.URL(), "https://"+hostPort(registryName, outside)+"/")}, public)
	r := a.lookup(t, mustParse(t, "", "alpha.example"))
	if r.Verdict != client.VerdictRegistered || inside.Counts().Connections != 0 {
		t.Errorf("%s, %d connections inside", describe(r), inside.Counts().Connections)
	}
}

// Redirects of a server that the user did not name must not go inside. Package pool
// defines which addresses are public.
func TestTrustOfHops(t *testing.T) {
	ca := newCA(t)
	registry := rdaptest.Start(t, rdaptest.Config{CA: ca, Log: true, Names: []string{registryName}})
	inside := rdaptest.Start(t, rdaptest.Config{CA: ca, Log: true})
	public := map[string]*rdaptest.Server{registryName: registry}
	base := "https://" + hostPort(registryName, registry) + "/"
	listed := listedAs(bootstrap.SourceIANA, base)
	registry.On("/domain/alpha.example", rdaptest.JSON(domainWith("alpha.example", "related|"+rdapJSON+"|"+inside.URL())))
	registry.On("/domain/own.example", rdaptest.JSON(domainWith("own.example", "related|"+rdapJSON+"|"+base+"rr/")))
	registry.On("/domain/moved.example", rdaptest.Redirect(302, inside.URL()+"domain/moved.example"))
	registry.On("/domain/here.example", rdaptest.Redirect(302, "/rr/domain/here.example"))
	a := newGuardedAsker(t, ca, client.Config{Resolver: listed, Referral: client.ReferralRegistrar}, public)
	r := a.lookup(t, mustParse(t, "", "alpha.example"))
	if g := r.Registrar; r.Verdict != client.VerdictRegistered || g == nil || g.Verdict != client.VerdictFailed || g.Attempts != 1 || client.ErrorOf(g).Code != client.CodeNotPublic {
		t.Errorf("%s, registrar %s", describe(r), describe(g))
	}
	if r := a.lookup(t, mustParse(t, "", "moved.example")); r.Verdict != client.VerdictFailed || client.ErrorOf(r).Code != client.CodeNotPublic || !strings.Contains(client.ErrorOf(r).Message, "a server referred to ") {
		t.Errorf("redirect: %s", describe(r))
	}
	if n := inside.Counts().Connections; n != 0 {
		t.Errorf("%d connections to what only this machine can reach", n)
	}
	// A link to the same server is not a hop.
	if r := a.lookup(t, mustParse(t, "", "own.example")); r.Registrar == nil || r.Registrar.Verdict != client.VerdictRegistered {
		t.Errorf("own link: %s", describe(r))
	}
	if r := a.lookup(t, mustParse(t, "", "here.example")); r.Verdict != client.VerdictRegistered {
		t.Errorf("own redirect: %s", describe(r))
	}
	// The user's own server inside may refer to any address, and so may the user's own list of
	// registrars.
	q := mustParse(t, "", "alpha.example")
	q.Server = registry.URL()
	if r := a.lookup(t, q); r.Registrar == nil || r.Registrar.Verdict != client.VerdictRegistered {
		t.Errorf("named server: %s", describe(r))
	}
	registry.On("/domain/numbered.example", rdaptest.JSON(`{"objectClassName":"domain","ldhName":"numbered.example","entities":[{"roles":["registrar"],"publicIds":[{"type":"IANA Registrar ID","identifier":"7"}]}]}`))
	a = newGuardedAsker(t, ca, client.Config{Resolver: listed, Referral: client.ReferralRegistrar, RegistrarURLs: map[string]string{"7": inside.URL()}}, public)
	if r := a.lookup(t, mustParse(t, "", "numbered.example")); r.Registrar == nil || r.Registrar.Verdict != client.VerdictRegistered {
		t.Errorf("named registrar: %s", describe(r))
	}
}

// Refused referrals to a server do not make it count as dead for lookups that name it.
func TestTrustBlamesNobody(t *testing.T) {
	ca := newCA(t)
	registry := rdaptest.Start(t, rdaptest.Config{CA: ca, Names: []string{registryName}})
	inside := rdaptest.Start(t, rdaptest.Config{CA: ca})
	registry.On("*", rdaptest.Redirect(302, inside.URL()+"domain/moved.example"))
	public := map[string]*rdaptest.Server{registryName: registry}
	a := newGuardedAsker(t, ca, client.Config{Resolver: listedAs(bootstrap.SourceIANA, "https://"+hostPort(registryName, registry)+"/")}, public)
	for range 20 {
		if r := a.lookup(t, mustParse(t, "", "alpha.example")); r.Verdict != client.VerdictFailed || client.ErrorOf(r).Code != client.CodeNotPublic {
			t.Fatal(describe(r))
		}
	}
	q := mustParse(t, "", "beta.example")
	q.Server = inside.URL()
	if r := a.lookup(t, q); r.Verdict != client.VerdictRegistered {
		t.Error(describe(r))
	}
}

// If a search was redirected to another server, its next pages are read under the same
// guard.
func TestTrustOfPages(t *testing.T) {
	ca := newCA(t)
	registry := rdaptest.Start(t, rdaptest.Config{CA: ca, Names: []string{registryName}})
	other := rdaptest.Start(t, rdaptest.Config{CA: ca, Names: []string{"other.example"}})
	base, elsewhere := "https://"+hostPort(registryName, registry)+"/", "https://"+hostPort("other.example", other)+"/"
	page := func(next string) rdaptest.Behaviour {
		return rdaptest.JSON(`{"domainSearchResults":[{"objectClassName":"domain","ldhName":"a.example"}],"paging_metadata":{"links":[{"rel":"next","href":"` + next + `"}]}}`)
	}
	registry.On("/domains", rdaptest.Redirect(302, elsewhere+"domains?name=a*"))
	other.On("/domains", page("/more"))
	other.On("/more", page("/last"))
	other.On("/last", rdaptest.JSON(`{"domainSearchResults":[]}`))
	q := mustParse(t, "domains", "name=a*.example")
	q.Server = base
	public := map[string]*rdaptest.Server{registryName: registry, "other.example": other}
	a := newGuardedAsker(t, ca, client.Config{}, public)
	if r := a.lookup(t, q); r.Verdict != client.VerdictFound || r.Paging == nil || !r.Paging.Complete {
		t.Errorf("%s, %+v", describe(r), r.Paging)
	}
	// Trusted and guarded requests use separate connections. One connection therefore means
	// that all pages were requested in the same way.
	if n := other.Counts().Connections; n != 1 {
		t.Errorf("%d connections for pages", n)
	}
	// After a redirect of the user's own server inside, further pages are read too.
	q.Server = registry.URL()
	registry.On("/domains", rdaptest.Redirect(302, other.URL()+"domains?name=a*"))
	if r := a.lookup(t, q); r.Verdict != client.VerdictFound || r.Paging == nil || !r.Paging.Complete {
		t.Errorf("inside: %s, %+v", describe(r), r.Paging)
	}
}
