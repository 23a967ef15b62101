package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/rdapq/rdapq/internal/render"
)

// The short help is one screen, lists only existing flags, and mentions the full help.
func TestShortHelp(t *testing.T) {
	for _, c := range []struct {
		args  []string
		short shortHelp
	}{
		{nil, shortCommand},
		{[]string{"bench"}, shortBench},
	} {
		name := strings.Join(append([]string{"rdapq"}, c.args...), " ")
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			root := newCommand(&app{stdout: &out, stderr: &out})
			root.SetArgs(append(slices.Clone(c.args), "-h"))
			if err := root.Execute(); err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(out.String(), "\n"); n >= 45 {
				t.Errorf("%d lines", n)
			}
			for line := range strings.Lines(out.String()) {
				if n := render.Columns(strings.TrimSuffix(line, "\n")); n > helpWidth {
					t.Errorf("%d columns: %s", n, line)
				}
			}
			if !strings.Contains(out.String(), "Run '"+name+" --help' for all flags") {
				t.Error("it does not name the full help")
			}
			cmd, _, err := root.Find(c.args)
			if err != nil {
				t.Fatal(err)
			}
			for _, g := range c.short.groups {
				for _, f := range g.flags {
					if cmd.Flags().Lookup(f.name) == nil || !strings.Contains(out.String(), " --"+f.name) {
						t.Errorf("--%s is missing", f.name)
					}
				}
			}
		})
	}
}
