package client_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/icholy/digest"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/pool"
)

const secret = "s3cret-Word"

// authClient returns a client for s and others that has a credential only for s.
func authClient(t *testing.T, scheme, name string, s *rdaptest.Server, others ...*rdaptest.Server) *client.Client {
	t.Helper()
	value := map[string]string{"bearer": secret, "apikey": name + "=" + secret, "header": name + ": " + secret}[scheme]
	if value == "" {
		value = name + ":" + secret
	}
	list, err := client.ParseCredentials(strings.NewReader(strings.TrimSuffix(s.URL(), "/") + " " + scheme + " " + value))
	if err != nil {
		t.Fatal(err)
	}
	roots := s.Pool()
	for _, o := range others {
		roots.AppendCertsFromPEM(o.CA().PEM())
	}
	p, err := pool.New(pool.Config{TLS: &tls.Config{RootCAs: roots}, AllowPrivate: true})
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(client.Config{Transport: p, Credentials: list, Search: client.SearchConfig{MaxResults: 2}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(); p.Close() })
	return c
}

func ask(t *testing.T, c *client.Client, server, name string) *client.Result {
	t.Helper()
	q, err := client.Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	q.Server = server
	r, _ := c.Lookup(context.Background(), q)
	if text := fmt.Sprintf("%+v %v %v", *r, client.ErrorOf(r), r.Warnings); strings.Contains(text, secret) {
		t.Errorf("the secret is in the result: %s", text)
	}
	return r
}

const alpha = `{"objectClassName":"domain","ldhName":"alpha.example"}`

func answer(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/rdap+json")
	fmt.Fprint(w, alpha)
}

func TestBasicBearerAndKey(t *testing.T) {
	for scheme, ok := range map[string]func(*http.Request) bool{
		"basic":  func(r *http.Request) bool { u, p, _ := r.BasicAuth(); return u == "me" && p == secret },
		"bearer": func(r *http.Request) bool { return r.Header.Get("Authorization") == "Bearer "+secret },
		"apikey": func(r *http.Request) bool { return r.URL.Query().Get("me") == secret },
		"header": func(r *http.Request) bool { return r.Header.Get("me") == secret },
	} {
		t.Run(scheme, func(t *testing.T) {
			s := rdaptest.Start(t, rdaptest.Config{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if !ok(r) {
					w.WriteHeader(http.StatusUnauthorized)
					return
				}
				answer(w)
			})})
			c := authClient(t, scheme, "me", s)
			r := ask(t, c, s.URL(), "alpha.example")
			if r.Verdict != client.VerdictRegistered {
				t.Errorf("%s: %v", r.Verdict, client.ErrorOf(r))
			}
			if s.Counts().Requests != 1 {
				t.Errorf("%d requests, want 1: the credential goes with the first", s.Counts().Requests)
			}
		})
	}
}

func TestDigest(t *testing.T) {
	var nonce atomic.Int64
	s := rdaptest.Start(t, rdaptest.Config{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := fmt.Sprint("nonce", nonce.Load())
		chal := digest.Challenge{Realm: "rdap", Nonce: n, QOP: []string{"auth"}, Algorithm: "SHA-256"}
		if got, err := digest.ParseCredentials(r.Header.Get("Authorization")); err == nil && got.Nonce == n {
			want, err := digest.Digest(&chal, digest.Options{Method: r.Method, URI: r.URL.RequestURI(), Count: got.Nc, Cnonce: got.Cnonce, Username: "me", Password: secret})
			if err == nil && want.Response == got.Response {
				answer(w)
				return
			}
		}
		w.Header().Set("WWW-Authenticate", chal.String())
		w.WriteHeader(http.StatusUnauthorized)
	})})
	c := authClient(t, "digest", "me", s)
	for i, want := range []int64{2, 3, 4} { // only the first lookup needs an extra request for the challenge
		if r := ask(t, c, s.URL(), "alpha.example"); r.Verdict != client.VerdictRegistered {
			t.Fatalf("lookup %d: %s: %v", i, r.Verdict, client.ErrorOf(r))
		}
		if n := s.Counts().Requests; n != want {
			t.Errorf("after lookup %d: %d requests, want %d", i, n, want)
		}
	}
	nonce.Add(1)
	if r := ask(t, c, s.URL(), "alpha.example"); r.Verdict != client.VerdictRegistered {
		t.Errorf("after a new nonce: %s: %v", r.Verdict, client.ErrorOf(r))
	}
	wrong := authClient(t, "digest", "you", s)
	if r := ask(t, wrong, s.URL(), "alpha.example"); client.ErrorOf(r) == nil || client.ErrorOf(r).Code != client.CodeUnauthorized {
		t.Errorf("with a wrong user: %s: %v", r.Verdict, client.ErrorOf(r))
	}
}

// A redirect to another origin is followed without the credential.
func TestCredentialsStayWithTheirOrigin(t *testing.T) {
	for _, scheme := range []string{"basic", "bearer", "apikey", "header"} {
		other := rdaptest.Start(t, rdaptest.Config{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "" || r.Header.Get("me") != "" || strings.Contains(r.URL.RawQuery, secret) {
				t.Errorf("%s: another origin was sent the credential", scheme)
			}
			answer(w)
		})})
		s := rdaptest.Start(t, rdaptest.Config{})
		s.On("*", rdaptest.Redirect(302, other.URL()+"domain/alpha.example"))
		c := authClient(t, scheme, "me", s, other)
		if r := ask(t, c, s.URL(), "alpha.example"); r.Verdict != client.VerdictRegistered {
			t.Errorf("%s: %s: %v", scheme, r.Verdict, client.ErrorOf(r))
		}
	}
}

func TestParseCredentialsErrors(t *testing.T) {
	for text, want := range map[string]string{
		"https://a.example":                                                  "line 1: expected an origin, a scheme and a credential",
		"# fine\n\nhttp://a.example basic me:" + secret:                      "line 3: the origin must look like",
		"https://a.example/path basic me:" + secret:                          "line 1: the origin must look like",
		"https://a.example kerberos " + secret:                               "line 1: the scheme must be",
		"https://a.example basic " + secret:                                  "line 1: a basic credential has the form user:password",
		"https://a.example apikey " + secret:                                 "line 1: an apikey credential has the form parameter=key",
		"https://a.example bearer a\nhttps://A.example:443 bearer " + secret: "line 2: the origin already has a credential",
	} {
		_, err := client.ParseCredentials(strings.NewReader(text))
		if err == nil || !strings.Contains(strings.Replace(err.Error(), "a apikey", "an apikey", 1), want) || strings.Contains(err.Error(), secret) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// A server that repeats the query of a request in its redirects and links does not spread
// the key to others.
func TestKeyInRedirect(t *testing.T) {
	var asked atomic.Int64
	other := rdaptest.Start(t, rdaptest.Config{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if strings.Contains(r.URL.RequestURI(), "s3cret") {
			t.Errorf("the other server got %s", r.URL.RequestURI())
		}
		answer(w)
	})})
	var to atomic.Pointer[string]
	s := rdaptest.Start(t, rdaptest.Config{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if values := r.URL.Query()["u"]; len(values) != 1 || values[0] != secret {
			t.Errorf("its own server got %s", r.URL.RequestURI())
		}
		switch {
		case strings.HasSuffix(r.URL.Path, "/"):
			answer(w)
		case r.URL.Path == "/domain/linked.example":
			w.Header().Set("Content-Type", "application/rdap+json")
			fmt.Fprintf(w, `{"objectClassName":"domain","ldhName":"linked.example","links":[{"rel":"related","type":"application/rdap+json","href":%q}]}`, *to.Load()+"domain/linked.example?u="+secret)
		default:
			w.Header().Set("Location", *to.Load()+"domain/alpha.example/?"+r.URL.RawQuery+"&keep=1&back=x%3Fu%3D"+secret)
			w.WriteHeader(http.StatusFound)
		}
	})})
	c := authClient(t, "apikey", "u", s, other)
	for _, base := range []string{other.URL(), s.URL(), "/"} {
		to.Store(&base)
		r := ask(t, c, s.URL(), "alpha.example")
		if r.Verdict != client.VerdictRegistered || !strings.HasSuffix(r.FinalURL, "/domain/alpha.example/?keep=1") {
			t.Errorf("%s: %s at %s: %v", base, r.Verdict, r.FinalURL, client.ErrorOf(r))
		}
	}
	base := other.URL()
	to.Store(&base)
	q, err := client.Parse("linked.example")
	if err != nil {
		t.Fatal(err)
	}
	q.Server, q.Referral = s.URL(), client.ReferralRegistrar
	if r, err := c.Lookup(t.Context(), q); err != nil || r.Registrar == nil || r.Registrar.Verdict != client.VerdictRegistered || strings.Contains(r.Registrar.URL+r.Registrar.Query.URL, secret) || asked.Load() != 2 {
		t.Errorf("%v, %+v, %d requests", err, r.Registrar, asked.Load())
	}
}

// If the link to the next page contains the key, the request has it, but the result does
// not.
func TestKeyInNextPage(t *testing.T) {
	var asked atomic.Int64
	s := rdaptest.Start(t, rdaptest.Config{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if values := r.URL.Query()["u"]; len(values) != 1 || values[0] != secret {
			t.Errorf("asked for %s", r.URL.RequestURI())
		}
		w.Header().Set("Content-Type", "application/rdap+json")
		fmt.Fprintf(w, `{"domainSearchResults":[%s],"paging_metadata":{"links":[{"rel":"next","type":"application/rdap+json","href":"/domains?name=a*&cursor=%d&u=%s"}]}}`, alpha, asked.Load(), secret)
	})})
	c := authClient(t, "apikey", "u", s)
	q, err := client.ParseAs(client.TypeDomains, "name=a*")
	if err != nil {
		t.Fatal(err)
	}
	q.Server = s.URL()
	r, err := c.Lookup(t.Context(), q)
	if err != nil || r.Paging == nil || asked.Load() != 2 || !strings.HasSuffix(r.Paging.Next, "cursor=2") {
		t.Fatalf("%v, %+v, %d requests", err, r.Paging, asked.Load())
	}
}

// No format prints the secret of a credential.
func TestCredentialPrinted(t *testing.T) {
	c := client.Credential{Scheme: client.AuthBasic, Name: "user", Secret: secret}
	var log strings.Builder
	logger := slog.New(slog.NewJSONHandler(&log, nil))
	logger.Info("asking", "value", c, "pointer", &c)
	config := client.Config{Credentials: map[string]*client.Credential{"https://rdap.example": &c}}
	for _, text := range []string{
		fmt.Sprint(c), fmt.Sprint(&c), fmt.Sprintf("%+v %#v %q", c, c, c), fmt.Sprintf("%+v %#v", []client.Credential{c}, &c),
		fmt.Sprintf("%+v", config), log.String(),
	} {
		if strings.Contains(text, secret) {
			t.Errorf("the secret is in %s", text)
		}
	}
	if !strings.Contains(log.String(), "basic credential") {
		t.Errorf("logged %s", log.String())
	}
}

// CredentialFor is called for each request, with the context of the caller. A new token is sent
// from the next request on, and no token crosses to another origin.
func TestCredentialFor(t *testing.T) {
	type key struct{}
	var calls atomic.Int64
	for _, scheme := range []client.AuthScheme{client.AuthBearer, client.AuthAPIKey, client.AuthHeader} {
		calls.Store(0)
		other := rdaptest.Start(t, rdaptest.Config{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "" || r.Header.Get("token") != "" || strings.Contains(r.URL.String(), secret) {
				t.Errorf("%s: another origin was sent the credential: %s", scheme, r.URL)
			}
			answer(w)
		})})
		s := rdaptest.Start(t, rdaptest.Config{CA: other.CA(), Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			want := fmt.Sprint(secret, calls.Load())
			if r.Header.Get("Authorization") != "Bearer "+want && r.Header.Get("token") != want && r.URL.Query().Get("token") != want {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			if strings.HasSuffix(r.URL.Path, "/moved.example") { // the server repeats the query, as many do
				http.Redirect(w, r, other.URL()+"domain/alpha.example?"+r.URL.RawQuery, http.StatusFound)
				return
			}
			answer(w)
		})})
		p, err := pool.New(pool.Config{TLS: &tls.Config{RootCAs: s.Pool()}, AllowPrivate: true})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		c, err := client.New(client.Config{Transport: p, CredentialFor: func(ctx context.Context, origin string) (*client.Credential, error) {
			if ctx.Value(key{}) != "caller" {
				t.Error("the context is not the caller's")
			}
			if origin+"/" != s.URL() {
				return nil, nil
			}
			return &client.Credential{Scheme: scheme, Name: "token", Secret: fmt.Sprint(secret, calls.Add(1))}, nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		ctx := context.WithValue(t.Context(), key{}, "caller")
		for _, name := range []string{"alpha.example", "moved.example", "alpha.example"} {
			q := mustParse(t, "", name)
			q.Server = s.URL()
			r, err := c.Lookup(ctx, q)
			if err != nil {
				t.Errorf("%s, %s: %v", scheme, name, err)
			}
			if text := fmt.Sprintf("%+v", *r); strings.Contains(text, secret) {
				t.Errorf("the secret is in the result: %s", text)
			}
		}
		if calls.Load() != 3 {
			t.Errorf("%s: %d calls for 3 requests", scheme, calls.Load())
		}
	}
}

// Without a credential because of an error, no request is sent, and the server counts as
// working.
func TestCredentialForError(t *testing.T) {
	expired := errors.New("refresh token expired")
	var fail atomic.Bool
	var scheme atomic.Value
	scheme.Store(client.AuthBearer)
	s, a := newPair(t, rdaptest.Config{}, client.Config{CredentialFor: func(context.Context, string) (*client.Credential, error) {
		if fail.Load() {
			return nil, expired
		}
		return &client.Credential{Scheme: scheme.Load().(client.AuthScheme), Secret: secret}, nil
	}})
	q := mustParse(t, "", "alpha.example")
	a.lookup(t, q)
	fail.Store(true)
	for range 10 {
		r, err := a.Lookup(t.Context(), q)
		if !errors.Is(err, client.CodeCredential) || !errors.Is(err, expired) || r.Verdict != client.VerdictFailed || r.Attempts != 1 {
			t.Errorf("%s after %d attempts", describe(r), r.Attempts)
		}
	}
	fail.Store(false)
	if a.lookup(t, q); s.Counts().Requests != 2 || a.Servers()[0].Dead {
		t.Errorf("%d requests, servers %+v", s.Counts().Requests, a.Servers())
	}
	scheme.Store(client.AuthScheme("kerberos"))
	if r, err := a.Lookup(t.Context(), q); !errors.Is(err, client.CodeCredential) {
		t.Errorf("invalid scheme: %s", describe(r))
	}
}
