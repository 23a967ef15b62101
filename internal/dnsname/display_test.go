package dnsname

import "testing"

func TestDisplay(t *testing.T) {
	for in, want := range map[string]string{
		"GOOGLE.COM": "google.com", "ns1.alpha.example.": "ns1.alpha.example", ".": ".", "": "", " a.example ": "a.example",
	} {
		if got := Display(in); got != want {
			t.Errorf("Display(%q) = %q, want %q", in, got, want)
		}
	}
}
