package main

import (
	"bytes"
	"errors"
	"testing"

	"github.com/rdapq/rdapq/bootstrap"
)

// TestIANAOnly asks the resolver and not the servers, which are real ones.
func TestIANAOnly(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	for _, only := range []bool{false, true} {
		var stderr bytes.Buffer
		a := &app{stderr: &stderr, opts: options{offline: true, ianaOnly: only, net: networkOptions{http: "auto", tlsMin: "1.2", tlsMax: "1.3"}}}
		s, err := a.newSession()
		if err != nil {
			t.Fatal(err)
		}
		defer s.close(t.Context())
		answer, err := s.resolver.Resolve(t.Context(), bootstrap.Question{Class: bootstrap.Domain, Name: "alpha.ch"})
		if only && !errors.Is(err, bootstrap.ErrNoService) {
			t.Errorf("with --iana-only: %v, %v", answer, err)
		}
		if !only && (err != nil || answer.Source != bootstrap.SourceUnlisted) {
			t.Errorf("without: %v, %v", answer, err)
		}
	}
}
