package client_test

import (
	"strings"
	"testing"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/limit"
)

func TestRedirectFollowed(t *testing.T) {
	ca := newCA(t)
	to := rdaptest.Start(t, rdaptest.Config{CA: ca, Log: true})
	from := rdaptest.Start(t, rdaptest.Config{CA: ca, Log: true})
	a := newAsker(t, ca, client.Config{Resolver: urls{from.URL()}})
	for _, tt := range []struct {
		code     int
		location string
		want     string // path and query at the target
	}{
		{301, to.URL() + "domain/alpha.example", "/domain/alpha.example"},
		{302, to.URL() + "domain/alpha.example?key=1", "/domain/alpha.example?key=1"},
		{303, to.URL() + "rdap/domain/alpha.example#part", "/rdap/domain/alpha.example"},
		{307, "//" + to.Addr() + "/domain/alpha.example", "/domain/alpha.example"},
		{308, "https://user:word@" + to.Addr() + "/domain/alpha.example", "/domain/alpha.example"},
	} {
		from.On("/domain/alpha.example", rdaptest.Redirect(tt.code, tt.location))
		r := a.lookup(t, mustParse(t, "", "alpha.example"))
		if r.Verdict != client.VerdictRegistered || r.Attempts != 1 {
			t.Errorf("%d %s: %s after %d attempts", tt.code, tt.location, describe(r), r.Attempts)
			continue
		}
		log := to.Log()
		last := log[len(log)-1]
		if last.URI != tt.want {
			t.Errorf("%d %s: asked for %q, want %q", tt.code, tt.location, last.URI, tt.want)
		}
		if got := last.Header["Authorization"]; got != nil {
			t.Errorf("%d %s: credentials %q crossed over", tt.code, tt.location, got)
		}
		if r.URL != from.URL()+"domain/alpha.example" || !strings.HasPrefix(r.FinalURL, to.URL()) || strings.Contains(r.FinalURL, "word") {
			t.Errorf("%d: URL %q, final URL %q", tt.code, r.URL, r.FinalURL)
		}
	}

	// A relative redirect, and a redirect to a 404, whose error names the responding
	// server.
	from.On("/domain/free.example", rdaptest.Redirect(302, "/moved/free.example"))
	from.On("/moved/free.example", rdaptest.Status(404))
	if r := a.lookup(t, mustParse(t, "", "free.example")); r.Verdict != client.VerdictNotFound || r.FinalURL != from.URL()+"moved/free.example" {
		t.Errorf("relative: %s, final URL %q", describe(r), r.FinalURL)
	}
	from.On("/domain/free.example", rdaptest.Redirect(302, to.URL()+"domain/free.example"))
	if r := a.lookup(t, mustParse(t, "", "free.example")); r.Verdict != client.VerdictNotFound || !strings.Contains(client.ErrorOf(r).Message, to.URL()) {
		t.Errorf("404 elsewhere: %s", describe(r))
	}
}

func TestRedirectRefused(t *testing.T) {
	for _, tt := range []struct {
		name, location, want string
	}{
		{"self", "https://HOST/domain/alpha.example", "is a loop"},
		{"self relative", "alpha.example", "is a loop"},
		{"loop", "/a", "is a loop"},
		{"to http", "http://HOST/domain/alpha.example", "from https to http"},
		{"file", "file:///etc/passwd", "not an http or https URL"},
		{"gopher", "gopher://127.0.0.1:70/", "not an http or https URL"},
		{"not a URL", "https://[::1", "not a valid URL"},
		{"no host", "https:///domain/alpha.example", "not an http or https URL"},
		{"nowhere", "", "no Location"},
		{"too many", "/hop1", "more than 5 redirects"},
		{"escape", "http://HOST/\u009b31m", "from https to http"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, a := newPair(t, rdaptest.Config{}, client.Config{})
			s.On("/domain/alpha.example", rdaptest.Redirect(302, strings.ReplaceAll(tt.location, "HOST", s.Addr())))
			s.On("/a", rdaptest.Redirect(302, "/b"))
			s.On("/b", rdaptest.Redirect(302, "/a"))
			s.On("/hop1", rdaptest.Redirect(302, "/hop2"))
			s.On("/hop2", rdaptest.Redirect(302, "/hop3"))
			s.On("/hop3", rdaptest.Redirect(302, "/hop4"))
			s.On("/hop4", rdaptest.Redirect(302, "/hop5"))
			s.On("/hop5", rdaptest.Redirect(302, "/hop6"))
			r := a.lookup(t, mustParse(t, "", "alpha.example"))
			if r.Verdict != client.VerdictFailed || client.ErrorOf(r).Code != client.CodeRedirect || !strings.Contains(client.ErrorOf(r).Message, tt.want) {
				t.Errorf("%s, want %q", describe(r), tt.want)
			}
			if client.ErrorOf(r) != nil && strings.Contains(client.ErrorOf(r).Message, "\u009b") {
				t.Errorf("unfit message %q", client.ErrorOf(r).Message)
			}
			if tt.name == "loop" && !strings.Contains(client.ErrorOf(r).Message, s.URL()+"a → "+s.URL()+"b → "+s.URL()+"a") {
				t.Errorf("message %q does not name the loop", client.ErrorOf(r).Message)
			}
		})
	}
}

func TestRedirectLimit(t *testing.T) {
	s, a := newPair(t, rdaptest.Config{}, client.Config{MaxRedirects: -1})
	s.On("/domain/alpha.example", rdaptest.Redirect(302, "/domain/beta.example"))
	if r := a.lookup(t, mustParse(t, "", "alpha.example")); r.Verdict != client.VerdictFailed || client.ErrorOf(r).Code != client.CodeRedirect {
		t.Errorf("none allowed: %s", describe(r))
	}
	if n := s.Counts().Requests; n != 1 {
		t.Errorf("%d requests", n)
	}
}

// Redirects may be unusual: with a body, with other fields, or with another status.
func TestRedirectOdd(t *testing.T) {
	html := rdaptest.Body("text/html", "<html><title>moved away</title></html>")
	for _, tt := range []struct {
		name     string
		how      []rdaptest.Behaviour
		verdict  client.Verdict
		code     client.Code
		says     string
		requests int
	}{
		{"spaces", []rdaptest.Behaviour{rdaptest.Redirect(302, " /x/domain/alpha example ")}, client.VerdictRegistered, "", "", 2},
		{"to a page", []rdaptest.Behaviour{rdaptest.Redirect(302, "/page")}, client.VerdictFailed, client.CodeNotRDAP, "/page returned (200) labelled text/html", 2},
		{"percent signs that mean nothing", []rdaptest.Behaviour{rdaptest.Redirect(302, "/x/domain/%zz")}, client.VerdictFailed, client.CodeRedirect, "not a valid URL", 1},
		{"blank", []rdaptest.Behaviour{rdaptest.Redirect(302, "  ")}, client.VerdictFailed, client.CodeRedirect, "no Location", 1},
		{"with a body", []rdaptest.Behaviour{rdaptest.Redirect(301, "/x/domain/alpha.example"), html}, client.VerdictRegistered, "", "", 2},
		{"300", []rdaptest.Behaviour{rdaptest.Redirect(300, "/x/domain/alpha.example")}, client.VerdictFailed, client.CodeNotRDAP, "(300)", 1},
		{"304", []rdaptest.Behaviour{rdaptest.Redirect(304, "/x/domain/alpha.example")}, client.VerdictFailed, client.CodeNotRDAP, "(304)", 1},
		{"305", []rdaptest.Behaviour{rdaptest.Redirect(305, "/x/domain/alpha.example")}, client.VerdictFailed, client.CodeNotRDAP, "(305)", 1},
		{"200 with Location", []rdaptest.Behaviour{rdaptest.Header("Location", "/x/domain/alpha.example")}, client.VerdictRegistered, "", "", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, a := newPair(t, rdaptest.Config{Log: true, Protocols: rdaptest.H1Only}, client.Config{Attempts: 1})
			s.On("/domain/alpha.example", tt.how...)
			s.On("/x/*", rdaptest.JSON(domainWith("alpha.example")))
			s.On("/page", html)
			r := a.lookup(t, mustParse(t, "", "alpha.example"))
			code, message := client.Code(""), ""
			if client.ErrorOf(r) != nil {
				code, message = client.ErrorOf(r).Code, client.ErrorOf(r).Message
			}
			if r.Verdict != tt.verdict || code != tt.code || !strings.Contains(message, tt.says) {
				t.Errorf("%s, want %s %s %q", describe(r), tt.verdict, tt.code, tt.says)
			}
			if n := len(s.Log()); n != tt.requests {
				t.Errorf("%d requests, want %d", n, tt.requests)
			}
			for _, e := range s.Log() {
				if strings.Contains(e.URI, " ") {
					t.Errorf("asked for %q", e.URI)
				}
			}
			// The body of the redirect was read, so that the connection can be reused.
			a.lookup(t, mustParse(t, "", "beta.example"))
			if n := s.Counts().Connections; n != 1 {
				t.Errorf("%d connections", n)
			}
		})
	}
}

// Each redirect counts against the limit of its host.
func TestRedirectCounts(t *testing.T) {
	ca := newCA(t)
	from := rdaptest.Start(t, rdaptest.Config{CA: ca, Log: true})
	to := rdaptest.Start(t, rdaptest.Config{CA: ca, Log: true})
	from.On("*", rdaptest.Redirect(302, to.URL()+"domain/alpha.example"))
	rate, err := parseRate("2/1h")
	if err != nil {
		t.Fatal(err)
	}
	a := newAsker(t, ca, client.Config{Resolver: urls{from.URL()}, MaxWait: -1, Rates: map[string]limit.Rate{to.Addr(): rate}})
	for i, want := range []client.Verdict{client.VerdictRegistered, client.VerdictRegistered, client.VerdictRateLimited} {
		if r := a.lookup(t, mustParse(t, "", "alpha.example")); r.Verdict != want {
			t.Errorf("lookup %d: %s, want %s", i, describe(r), want)
		}
	}
	if f, n := len(from.Log()), len(to.Log()); f != 3 || n != 2 {
		t.Errorf("%d and %d requests, want 3 and 2", f, n)
	}
}

func parseRate(text string) (limit.Rate, error) {
	_, rate, err := limit.ParseRate("host=" + text)
	return rate, err
}

// If a redirect points to a missing web page, the 404 does not mean that the name does not
// exist.
func TestRedirectStrays(t *testing.T) {
	page := []rdaptest.Behaviour{rdaptest.Status(404), rdaptest.Body("text/html", html404)}
	s, a := newPair(t, rdaptest.Config{}, client.Config{})
	s.On("/sorry", page...)
	s.On("/nothing", rdaptest.Status(404), rdaptest.NoBody())
	s.On("/json", rdaptest.Status(404))
	s.On("/other/domain/page.example", page...)
	for _, tt := range []struct {
		to      string
		verdict client.Verdict
	}{
		{"sorry", client.VerdictFailed},
		{"nothing", client.VerdictFailed},
		{"json", client.VerdictNotFound},
		{"other/domain/page.example", client.VerdictNotFound}, // accepted because the server has sent RDAP
	} {
		to, verdict := tt.to, tt.verdict
		s.On("/domain/page.example", rdaptest.Redirect(302, s.URL()+to))
		for _, text := range []string{"page.example", s.URL() + "domain/page.example"} {
			r := a.lookup(t, mustParse(t, "", text))
			if r.Verdict != verdict || r.Status != 404 || verdict == client.VerdictFailed && (client.ErrorOf(r).Code != client.CodeNotRDAP || !strings.Contains(client.ErrorOf(r).Message, s.URL()+to)) {
				t.Errorf("%s to %s: %s", text, to, describe(r))
			}
		}
	}
}
