package main

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/oauth2/clientcredentials"

	"github.com/rdapq/rdapq/pool"
)

// An apiServer issues tokens, and lists three repositories on two pages to those who have one.
type apiServer struct {
	*httptest.Server
	handshakes, tokens atomic.Int64
}

func newAPIServer(t *testing.T) *apiServer {
	s := new(apiServer)
	mux := http.NewServeMux()
	mux.HandleFunc("POST /token", func(w http.ResponseWriter, r *http.Request) {
		id, secret, ok := r.BasicAuth()
		if !ok || id != "me" || secret != "secret" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		s.tokens.Add(1)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"access_token":"abc","token_type":"Bearer","expires_in":3600}`)
	})
	mux.HandleFunc("GET /orgs/{org}/repos", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer abc" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if r.FormValue("page") == "" {
			w.Header().Set("Link", fmt.Sprintf(`<%s/orgs/%s/repos?page=2>; rel="next"`, s.URL, r.PathValue("org")))
			fmt.Fprint(w, `[{"name":"one"},{"name":"two"}]`)
			return
		}
		fmt.Fprint(w, `[{"name":"three"}]`)
	})
	s.Server = httptest.NewUnstartedServer(mux)
	s.EnableHTTP2 = true
	s.TLS = &tls.Config{VerifyConnection: func(tls.ConnectionState) error {
		s.handshakes.Add(1)
		return nil
	}}
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

func TestRun(t *testing.T) {
	s := newAPIServer(t)
	c := pool.Config{TLS: s.Client().Transport.(*http.Transport).TLSClientConfig}
	credentials := clientcredentials.Config{ClientID: "me", ClientSecret: "secret", TokenURL: s.URL + "/token"}
	var out strings.Builder
	if err := run(t.Context(), &out, c, s.URL+"/", credentials, "example"); err != nil {
		t.Fatal(err)
	}
	if want := "one\ntwo\nthree\n3 requests, 1 connections, 2 handshakes avoided\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
	if s.handshakes.Load() != 1 || s.tokens.Load() != 1 {
		t.Errorf("the server saw %d handshakes and issued %d tokens, want 1 and 1", s.handshakes.Load(), s.tokens.Load())
	}
}

// Without the right secret the API is not called.
func TestWrongSecret(t *testing.T) {
	s := newAPIServer(t)
	c := pool.Config{TLS: s.Client().Transport.(*http.Transport).TLSClientConfig}
	credentials := clientcredentials.Config{ClientID: "me", ClientSecret: "wrong", TokenURL: s.URL + "/token"}
	if err := run(t.Context(), new(strings.Builder), c, s.URL+"/", credentials, "example"); err == nil {
		t.Error("no error")
	}
	if s.tokens.Load() != 0 {
		t.Error("the server issued a token")
	}
}
