package main

import (
	"bytes"
	"errors"
	"testing"

	"github.com/rdapq/rdapq/bootstrap"
)

// atHome makes runs in this process use a temporary home directory.
func atHome(t *testing.T) {
	t.Helper()
	home := t.TempDir()
	for _, name := range []string{"HOME", "USERPROFILE", "AppData", "LocalAppData", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"} {
		t.Setenv(name, home)
	}
}

// TestIANAOnly uses only the resolver, because its servers are real and must not be queried.
func TestIANAOnly(t *testing.T) {
	atHome(t)
	for _, only := range []bool{false, true} {
		var stderr bytes.Buffer
		a := &app{stderr: &stderr, opts: options{offline: true, ianaOnly: only, net: networkOptions{http: "auto", tlsMin: "1.2", tlsMax: "1.3"}}}
		s, err := a.newSession()
		if err != nil {
			t.Fatal(err)
		}
		defer s.close(t.Context())
		answer, err := s.resolver.Resolve(t.Context(), bootstrap.Question{For: bootstrap.ForDomain, Name: "alpha.ch"})
		if only && !errors.Is(err, bootstrap.ErrNoService) {
			t.Errorf("with --iana-only: %v, %v", answer, err)
		}
		if !only && (err != nil || answer.Source != bootstrap.SourceUnlisted) {
			t.Errorf("without: %v, %v", answer, err)
		}
	}
}
