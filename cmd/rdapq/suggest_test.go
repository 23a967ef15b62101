package main

import "testing"

func TestSuggested(t *testing.T) {
	flags := newCommand(new(app)).Flags()
	for name, want := range map[string]string{
		"formt": "format", "stat": "stats", "perhost": "per-host", "no-resue": "no-reuse", "outptu": "output",
		"json": "format json", "csv": "format csv",
		"nope": "", "": "", "x": "", "whois": "", "deduplicate-everything": "",
	} {
		if got := suggested(flags, name); got != want {
			t.Errorf("--%s: suggested %q, want %q", name, got, want)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"formt", "format", 1}, {"kitten", "sitting", 3}} {
		if got := distance(tt.a, tt.b); got != tt.want {
			t.Errorf("%s to %s: %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}
