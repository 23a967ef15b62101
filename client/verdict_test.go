package client_test

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/pool"
)

const html404 = "<html><head><title>404</title></head><body><h1>404</h1></body></html>"

func TestVerdict(t *testing.T) {
	t.Parallel() // the test mostly waits
	const domain = `{"objectClassName":"domain","ldhName":"alpha.example"}`
	body, json := rdaptest.Body, rdaptest.JSON
	status, header := rdaptest.Status, rdaptest.Header
	all := func(b ...rdaptest.Behaviour) []rdaptest.Behaviour { return b }
	for _, tt := range []struct {
		name     string
		answer   []rdaptest.Behaviour
		verdict  client.Verdict
		code     client.Code
		message  string // part of the message
		warnings int
	}{
		{"registered", all(json(domain)), client.VerdictRegistered, "", "", 0},
		{"byte-order mark", all(json("\xef\xbb\xbf" + domain)), client.VerdictRegistered, "", "", 0},
		{"white space around", all(json("\r\n " + domain + "\n\n")), client.VerdictRegistered, "", "", 0},
		{"parameters of the type", all(body("application/rdap+json; charset=UTF-8", domain)), client.VerdictRegistered, "", "", 0},
		{"application/json", all(body("application/json", domain)), client.VerdictRegistered, "", "", 0},
		{"text/plain", all(body("text/plain", domain)), client.VerdictRegistered, "", "", 1},
		{"no type", all(body("", domain)), client.VerdictRegistered, "", "", 1},
		{"upper case and dot", all(json(`{"objectClassName":"domain","ldhName":"ALPHA.Example."}`)), client.VerdictRegistered, "", "", 0},
		{"unicode name only", all(json(`{"objectClassName":"domain","unicodeName":"alpha.example"}`)), client.VerdictRegistered, "", "", 0},
		{"no name", all(json(`{"objectClassName":"domain"}`)), client.VerdictRegistered, "", "", 0},
		{"another name", all(json(`{"objectClassName":"domain","ldhName":"example"}`)), client.VerdictRegistered, "", "", 1},
		{"another class", all(json(`{"objectClassName":"entity"}`)), client.VerdictFound, "", "", 1},

		{"html", all(body("text/html", "<html><p>moved</p></html>")), client.VerdictFailed, client.CodeNotRDAP, "text/html", 0},
		{"html as rdap", all(json("<html><p>moved</p></html>")), client.VerdictFailed, client.CodeNotRDAP, "moved", 0},
		{"null", all(json("null")), client.VerdictFailed, client.CodeNotRDAP, "null", 0},
		{"list", all(json("[]")), client.VerdictFailed, client.CodeNotRDAP, "[]", 0},
		{"string", all(json(`"ok"`)), client.VerdictFailed, client.CodeNotRDAP, "ok", 0},
		{"empty object", all(json("{}")), client.VerdictFailed, client.CodeNotRDAP, "empty object", 0},
		{"empty", all(rdaptest.NoBody()), client.VerdictFailed, client.CodeNotRDAP, "empty body", 0},
		{"204", all(status(204), rdaptest.NoBody()), client.VerdictFailed, client.CodeNotRDAP, "(204)", 0},
		{"cut off", all(json(`{"objectClassName":"domain","ldh`)), client.VerdictFailed, client.CodeNotRDAP, "", 0},
		{"deep", all(json(strings.Repeat("[", 100_000))), client.VerdictFailed, client.CodeNotRDAP, "", 0},
		{"notices only", all(json(`{"rdapConformance":["rdap_level_0"],"notices":[{"title":"busy"}]}`)), client.VerdictFailed, client.CodeNotRDAP, "", 0},
		{"no class", all(json(`{"lang":"en"}`)), client.VerdictFailed, client.CodeNotRDAP, "", 0},
		{"escape sequences", all(body("text/html", "\x1b]0;evil\x07\u202e")), client.VerdictFailed, client.CodeNotRDAP, "", 0},
		{"error 404 in a 200", all(json(`{"errorCode":404,"title":"no such name"}`)), client.VerdictNotFound, client.CodeNotFound, "no such name", 1},
		{"error 429 in a 200", all(json(`{"errorCode":429,"title":"slow down"}`)), client.VerdictFailed, client.CodeNotRDAP, "slow down", 0},

		{"half an error 404 in a 200", all(json(`{"errorCode":404,"title":"no such na`)), client.VerdictFailed, client.CodeNotRDAP, "", 0},
		{"no service in a 200", all(json(`{"errorCode":404,"title":"No RDAP service for this name"}`)), client.VerdictNoService, client.CodeNoService, "no RDAP service known", 1},
		{"no search results", all(json(`{"domainSearchResults":[]}`)), client.VerdictFailed, client.CodeNotRDAP, "an object of the wrong class for this query", 0},

		{"408", all(status(408), rdaptest.NoBody()), client.VerdictFailed, client.CodeServerError, "the server is temporarily unavailable (408)", 0},
		{"421", all(status(421), rdaptest.NoBody()), client.VerdictFailed, client.CodeServerError, "the server is temporarily unavailable (421)", 0},
		{"425", all(status(425), rdaptest.NoBody()), client.VerdictFailed, client.CodeServerError, "the server is temporarily unavailable (425)", 0},

		{"404", all(status(404), json(`{"errorCode":404,"title":"Gone fishing","description":["Reserved","by registry"]}`)), client.VerdictNotFound, client.CodeNotFound, "Gone fishing: Reserved; by registry", 0},
		{"404 with one line", all(status(404), json(`{"errorCode":"404","description":"Reserved"}`)), client.VerdictNotFound, client.CodeNotFound, "Reserved", 0},
		{"404 with a byte-order mark", all(status(404), json("\xef\xbb\xbf"+`{"title":"Reserved"}`)), client.VerdictNotFound, client.CodeNotFound, "Reserved", 0},
		{"404 empty", all(status(404), rdaptest.NoBody()), client.VerdictRejected, client.CodeNotRDAP, "not RDAP (404) at https://", 0},
		{"404 page", all(status(404), body("text/html", html404)), client.VerdictRejected, client.CodeNotRDAP, "not RDAP (404) at https://", 1},
		{"404 cut off", all(status(404), json(`{"errorCode":404,"title":"Reserved","ti`)), client.VerdictNotFound, client.CodeNotFound, "Reserved", 1},
		{"404 that says 501", all(status(404), json(`{"errorCode":501,"title":"nope"}`)), client.VerdictNotFound, client.CodeNotFound, "nope", 1},

		{"429", all(status(429)), client.VerdictRateLimited, client.CodeRateLimited, "rate limited (429)", 0},
		{"429 page", all(status(429), body("text/html", "<h1>Too Many Requests</h1>")), client.VerdictRateLimited, client.CodeRateLimited, "Too Many Requests", 1},
		{"403 quota", all(status(403), body("text/html", "<html><head><title>query quota exceeded</title></head></html>")), client.VerdictRateLimited, client.CodeRateLimited, "query quota exceeded", 1},
		{"403 quota below the title", all(status(403), body("text/html", "<title>403</title><p>You have exceeded your limit</p>")), client.VerdictRateLimited, client.CodeRateLimited, "403", 1},
		{"422 too fast", all(status(422), json(`{"errorCode":"422","title":"Forbidden","description":["requests too fast, retry later"]}`)), client.VerdictRateLimited, client.CodeRateLimited, "too fast", 0},
		{"403 by notice", all(status(403), json(`{"errorCode":403,"notices":[{"title":"Rate Limit Notice","description":["10 a minute"]}]}`)), client.VerdictRateLimited, client.CodeRateLimited, "", 0},
		{"403 with terms", all(status(403), json(`{"errorCode":403,"title":"Forbidden","notices":[{"title":"Terms","description":["rate limits apply"]}]}`)), client.VerdictRejected, client.CodeForbidden, "Forbidden", 0},
		{"403", all(status(403), json(`{"errorCode":403,"title":"Forbidden","description":["not accurate"]}`)), client.VerdictRejected, client.CodeForbidden, "Forbidden", 0},
		{"503 with a time", all(status(503), header("Retry-After", "30")), client.VerdictRateLimited, client.CodeRateLimited, "(503)", 0},
		{"503 with junk", all(status(503), header("Retry-After", "soon")), client.VerdictFailed, client.CodeServerError, "(503)", 0},

		{"400", all(status(400), json(`{"errorCode":400,"title":"Bad Request","description":["not a second-level name"]}`)), client.VerdictRejected, client.CodeBadRequest, "rejected (400)", 0},
		{"401", all(status(401)), client.VerdictRejected, client.CodeUnauthorized, "(401)", 0},
		{"406", all(status(406)), client.VerdictRejected, client.CodeRejected, "(406)", 0},
		{"422", all(status(422), json(`{"title":"no such search"}`)), client.VerdictRejected, client.CodeUnsupported, "no such search", 0},
		{"501 problem", all(status(501), body("application/problem+json", `{"type":"about:blank","title":"Not Implemented","status":501,"detail":"no searches"}`)), client.VerdictRejected, client.CodeUnsupported, "Not Implemented: no searches", 0},
		{"500", all(status(500), body("text/html", "oops")), client.VerdictFailed, client.CodeServerError, "oops", 1},
		{"502", all(status(502), rdaptest.NoBody()), client.VerdictFailed, client.CodeServerError, "(502)", 0},
		{"304", all(status(304), rdaptest.NoBody()), client.VerdictFailed, client.CodeNotRDAP, "(304)", 0},
		{"300", all(status(300), rdaptest.NoBody()), client.VerdictFailed, client.CodeNotRDAP, "(300)", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, a := newPair(t, rdaptest.Config{}, client.Config{Attempts: 1})
			s.On("/domain/alpha.example", tt.answer...)
			r := a.lookup(t, mustParse(t, "", "alpha.example"))
			code, message := client.Code(""), ""
			if client.ErrorOf(r) != nil {
				code, message = client.ErrorOf(r).Code, client.ErrorOf(r).Message
				if client.ErrorOf(r).Server != s.URL() || client.ErrorOf(r).URL != r.URL || client.ErrorOf(r).Status != r.Status {
					t.Errorf("error of %q, %q, %d", client.ErrorOf(r).Server, client.ErrorOf(r).URL, client.ErrorOf(r).Status)
				}
			}
			if r.Verdict != tt.verdict || code != tt.code || !strings.Contains(message, tt.message) || len(r.Warnings) != tt.warnings {
				t.Errorf("%s; want %s %s %q, %d warnings", describe(r), tt.verdict, tt.code, tt.message, tt.warnings)
			}
			if code == client.CodeNotRDAP && !strings.Contains(message, s.Addr()) {
				t.Errorf("message %q does not say where", message)
			}
			for _, text := range append(messagesOf(r.Warnings), message) {
				if strings.ContainsAny(text, "\x1b\x07\n\u202e") || strings.Contains(text, "is available") || len(text) > 700 {
					t.Errorf("unfit text %q", text)
				}
			}
			if n := s.Counts().Requests; n != 1 {
				t.Errorf("%d requests", n)
			}
		})
	}
}

func TestVerdictHelp(t *testing.T) {
	s, a := newPair(t, rdaptest.Config{}, client.Config{})
	q := mustParse(t, client.TypeHelp, "")
	q.Server = s.URL()
	for body, verdict := range map[string]client.Verdict{
		`{"rdapConformance":["rdap_level_0"],"notices":[]}`: client.VerdictFound,
		`{"objectClassName":"help","notices":[]}`:           client.VerdictFound,
		`{}`:              client.VerdictFailed,
		`{"errorCode":1}`: client.VerdictFailed,
	} {
		s.On("/help", rdaptest.JSON(body))
		if r := a.lookup(t, q); r.Verdict != verdict {
			t.Errorf("%s: %s, want %s", body, describe(r), verdict)
		}
	}
}

func TestVerdictNames(t *testing.T) {
	s, a := newPair(t, rdaptest.Config{}, client.Config{})
	for _, tt := range []struct {
		ask, body string
		warnings  int
	}{
		{"bücher.example", `{"objectClassName":"domain","ldhName":"xn--bcher-kva.example","unicodeName":"bücher.example"}`, 0},
		{"bücher.example", `{"objectClassName":"domain","ldhName":"bücher.example"}`, 0},
		{"bücher.example", `{"objectClassName":"domain","unicodeName":"BÜCHER.example"}`, 0},
		{"alpha.gov.example", `{"objectClassName":"domain","ldhName":"alpha.example"}`, 1},
	} {
		s.On("/domain/*", rdaptest.JSON(tt.body))
		if r := a.lookup(t, mustParse(t, "", tt.ask)); len(r.Warnings) != tt.warnings || r.Verdict != client.VerdictRegistered {
			t.Errorf("%s, %s: %s", tt.ask, tt.body, describe(r))
		}
	}
}

func TestVerdictWords(t *testing.T) {
	s, a := newPair(t, rdaptest.Config{}, client.Config{})
	s.On("*", rdaptest.Status(404), rdaptest.JSON(`{"errorCode":404,"title":"Not Found",
		"description":["Name: alpha.example","Reserved\u001b[2J by registry"],"notices":[{"title":"Terms","description":["x"]}]}`))
	r := a.lookup(t, mustParse(t, "", "alpha.example"))
	if client.ErrorOf(r).Title != "Not Found" || !slices.Equal(client.ErrorOf(r).Detail, []string{"Name: alpha.example", "Reserved\x1b[2J by registry"}) {
		t.Errorf("title %q, detail %q", client.ErrorOf(r).Title, client.ErrorOf(r).Detail)
	}
	if want := `not found (404) at ` + s.URL() + `: Not Found: Name: alpha.example; Reserved\u001b[2J by registry`; client.ErrorOf(r).Message != want {
		t.Errorf("message %q, want %q", client.ErrorOf(r).Message, want)
	}
	for _, tt := range []struct{ ask, hint string }{
		{"www.alpha.example", "alpha.example"}, {"alpha.example", ""},
	} {
		s.On("*", rdaptest.Status(400))
		if r := a.lookup(t, mustParse(t, "", tt.ask)); !strings.HasSuffix(client.ErrorOf(r).Hint, tt.hint) || (tt.hint == "") != (client.ErrorOf(r).Hint == "") {
			t.Errorf("%s: hint %q, want %q", tt.ask, client.ErrorOf(r).Hint, tt.hint)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	const never = 365 * 24 * time.Hour
	for _, tt := range []struct {
		value    string
		min, max time.Duration
	}{
		{"2", 2 * time.Second, 2 * time.Second},
		{" 86400 ", 24 * time.Hour, 24 * time.Hour},
		{time.Now().Add(time.Hour).UTC().Format(http.TimeFormat), 50 * time.Minute, time.Hour},
		{"Wed, 21 Oct 2099 07:28:00 GMT", never, 20 * never},
		{"99999999999999999", never, 20 * never},
		{"0", 0, 0},
		{"-5", 0, 0},
		{"abc", 0, 0},
		{"1.5", 0, 0},
		{"", 0, 0},
		{"Wed, 21 Oct 1999 07:28:00 GMT", 0, 0},
	} {
		s, a := newPair(t, rdaptest.Config{}, client.Config{Attempts: 1, MaxWait: -1}) // a new one: the last server is paused
		s.On("*", rdaptest.Status(429), rdaptest.RetryAfter(tt.value))
		r := a.lookup(t, mustParse(t, "", "alpha.example"))
		if got := client.ErrorOf(r).RetryAfter; r.Verdict != client.VerdictRateLimited || got < tt.min || got > tt.max {
			t.Errorf("Retry-After %q: %s, %v", tt.value, describe(r), got)
		}
	}
}

// A server that closes an idle connection sends 408 on that connection. The request that
// receives the 408 is sent again.
func TestNotTaken(t *testing.T) {
	t.Parallel() // the test mostly waits
	for _, code := range []int{408, 421, 425} {
		s, a := newPair(t, rdaptest.Config{}, client.Config{})
		s.On("/domain/alpha.example", rdaptest.First(1, rdaptest.Status(code), rdaptest.NoBody(), rdaptest.Close()))
		if r := a.lookup(t, mustParse(t, "", "alpha.example")); r.Verdict != client.VerdictRegistered || r.Attempts != 2 {
			t.Errorf("%d: %s after %d attempts", code, describe(r), r.Attempts)
		}
	}
}

func messagesOf(warnings []client.Warning) (list []string) {
	for _, w := range warnings {
		list = append(list, w.Message)
	}
	return list
}

// A 404 of a redirector says nothing about a name, because the redirector only has no server
// for the name.
func TestRedirector(t *testing.T) {
	ca := newCA(t)
	registry := rdaptest.Start(t, rdaptest.Config{CA: ca})
	hub := rdaptest.Start(t, rdaptest.Config{CA: ca, Names: []string{"rdap.org"}})
	hub.On("/domain/free.example", rdaptest.Redirect(302, registry.URL()+"domain/free.example"))
	hub.On("/domain/alpha.zz", rdaptest.Status(404))
	p, err := pool.New(pool.Config{TLS: &tls.Config{RootCAs: ca.Pool()}, AllowPrivate: true, Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
		if addr == "rdap.org:443" {
			addr = hub.Addr()
		}
		return new(net.Dialer).DialContext(ctx, network, addr)
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	a := newAsker(t, ca, client.Config{Transport: p})
	ask := func(server, name string) *client.Result {
		q := mustParse(t, "", name)
		q.Server = server
		return a.lookup(t, q)
	}
	r := ask("https://rdap.org/", "alpha.zz")
	if r.Verdict != client.VerdictNoService || client.ErrorOf(r).Code != client.CodeNoService || r.Status != 404 || !strings.Contains(client.ErrorOf(r).Message, "no RDAP service known for .zz") || !strings.Contains(client.ErrorOf(r).Message, "https://rdap.org/") {
		t.Error(describe(r))
	}
	if r = ask("https://rdap.org/", "free.example"); r.Verdict != client.VerdictNotFound {
		t.Error("what a registry said behind a redirect:", describe(r))
	}

	// One registry sends a 404 that says that there is no service, and another one a 404 that
	// says something else.
	registry.On("/domain/beta.zz", rdaptest.Status(404), rdaptest.JSON(`{"errorCode":404,"title":"No RDAP service is available for this resource"}`))
	registry.On("/domain/gamma.zz", rdaptest.Status(404), rdaptest.JSON(`{"errorCode":404,"title":"Not found","description":["see the terms of our RDAP service"]}`))
	if r = ask(registry.URL(), "beta.zz"); r.Verdict != client.VerdictNoService || r.Status != 404 {
		t.Error(describe(r))
	}
	if r = ask(registry.URL(), "gamma.zz"); r.Verdict != client.VerdictNotFound {
		t.Error(describe(r))
	}
}
