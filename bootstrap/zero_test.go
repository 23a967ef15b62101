package bootstrap

import (
	"errors"
	"testing"
)

// A Resolver that was not made with New returns an error.
func TestZeroResolver(t *testing.T) {
	var r Resolver
	if _, err := r.Resolve(t.Context(), domain("alpha.com")); !errors.Is(err, errNotMade) {
		t.Errorf("Resolve: %v", err)
	}
	if infos := r.Info(); infos != nil {
		t.Errorf("Info: %v", infos)
	}
	if err := errors.Join(r.Wait(t.Context()), r.Close()); err != nil {
		t.Error(err)
	}
}

// The error of an invalid Config names the field.
func TestConfigError(t *testing.T) {
	for field, c := range map[string]Config{
		"Server":    {Server: "ftp://rdap.example/"},
		"BaseURL":   {BaseURL: "http://rdap.example/"},
		"Overrides": {Overrides: Overrides{"zz": nil}},
		"Files":     {Files: map[Registry][]byte{RegistryDNS: nil}},
	} {
		_, err := New(c)
		if bad, ok := errors.AsType[*ConfigError](err); !ok || bad.Field != field || bad.Err == nil {
			t.Errorf("%s: %v", field, err)
		}
	}
}

// An invalid question returns ErrInvalidQuestion, and not a NoServiceError.
func TestInvalidQuestion(t *testing.T) {
	r := newResolver(t, Config{Offline: true})
	for want, q := range map[string]Question{
		`bootstrap: invalid question: "alpha.рф" is not in A-labels; use "alpha.xn--p1ai"`:         domain("alpha.рф"),
		`bootstrap: invalid question: "ns1.alpha.рф" is not in A-labels; use "ns1.alpha.xn--p1ai"`: {For: ForNameserver, Name: "ns1.alpha.рф"},
		`bootstrap: invalid question: "\xff.com" is not in A-labels`:                               domain("\xff.com"),
		"bootstrap: invalid question: Prefix is not a valid address or prefix":                     {For: ForAddress},
		"bootstrap: invalid question: unknown subject 0":                                           {Name: "alpha.com"},
	} {
		if _, err := r.Resolve(t.Context(), q); !errors.Is(err, ErrInvalidQuestion) || errors.Is(err, ErrNoService) || err.Error() != want {
			t.Errorf("%+v: %v, want %s", q, err, want)
		}
	}
}
