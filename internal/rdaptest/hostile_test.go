package rdaptest

import (
	"strings"
	"testing"
)

// The list has enough servers of each kind, with unique names.
func TestHostileTCP(t *testing.T) {
	kinds, names := make(map[string]int), make(map[string]bool)
	for _, h := range HostileTCP() {
		kind, _, _ := strings.Cut(h.Name, ":")
		kinds[kind]++
		if names[h.Name] || h.Serve == nil {
			t.Errorf("%s is a duplicate, or does nothing", h.Name)
		}
		names[h.Name] = true
	}
	if kinds["HTTP/2"] < 60 || kinds["HTTP/1.1"] < 40 || kinds["TLS"]+kinds["TCP"] < 20 {
		t.Errorf("%v", kinds)
	}
	t.Log(kinds)
}
