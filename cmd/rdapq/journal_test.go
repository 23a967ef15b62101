package main

import (
	"os/exec"
	"runtime"
	"testing"

	"github.com/spf13/pflag"
)

func TestShellQuote(t *testing.T) {
	for _, s := range []string{"", "names.txt", "-j", "a b", "it's", `"$HOME" \ ;|&*?#~`, "ünïcode", "a\nb", "--rate=h=1/1s", "50%"} {
		got := shellQuote(s, false)
		if s == "names.txt" && got != s {
			t.Errorf("%q needs no quotes", got)
		}
		if runtime.GOOS == "windows" {
			continue
		}
		out, err := exec.CommandContext(t.Context(), "sh", "-c", "printf %s "+got).Output()
		if err != nil || string(out) != s {
			t.Errorf("%q is quoted as %s, and a shell reads %q, %v", s, got, out, err)
		}
	}
	for s, want := range map[string]string{`C:\x.txt`: `C:\x.txt`, `C:\a b`: `"C:\a b"`, "": `""`} {
		if got := shellQuote(s, true); got != want {
			t.Errorf("%q is quoted as %s for Windows", s, got)
		}
	}
}

// The command that resumes a run never contains --force.
func TestResumeCommand(t *testing.T) {
	for _, test := range []struct {
		line []string
		want string
	}{
		// RDAPQ_FORCE has set the flag
		{[]string{"rdapq", "-f", "a b", "-o", "x"}, "rdapq --force=false -f 'a b' -o x"},
		{[]string{"rdapq", "-f", "n", "--force", "-o", "x"}, "rdapq -f n -o x"},
		{[]string{"rdapq", "--force=true", "-f", "n", "-o", "x"}, "rdapq -f n -o x"},
	} {
		a := app{line: test.line}
		a.opts.batch.force = true
		if got := a.resumeCommand(); runtime.GOOS != "windows" && got != test.want {
			t.Errorf("%q: %s, want %s", test.line, got, test.want)
		}
	}
}

// Flags affect rows unless listed in rowNeutralFlags, and all listed flags exist.
func TestRowFlags(t *testing.T) {
	var a app
	cmd := newCommand(&a)
	a.flags = cmd.Flags()
	for _, name := range rowNeutralFlags {
		if name != "help" && name != "version" && a.flags.Lookup(name) == nil {
			t.Errorf("there is no flag %s", name)
		}
	}
	if got, secret := a.rowFlags(); len(got)+len(secret) != 0 {
		t.Errorf("without credentials: %v", got)
	}
	matters := make(map[string]bool)
	a.flags.VisitAll(func(f *pflag.Flag) {
		value := map[string]string{"bool": "true", "int": "7", "count": "2", "duration": "7s", "size": "7MB"}[f.Value.Type()]
		if value == "" {
			value = "x"
		}
		old := f.Value.String()
		if err := f.Value.Set(value); err != nil {
			t.Fatal(f.Name, err)
		}
		got, secret := a.rowFlags()
		matters[f.Name] = len(got)+len(secret) > 0
		if f.Value.Type() != "stringArray" && f.Value.Type() != "stringSlice" {
			if err := f.Value.Set(old); err != nil {
				t.Fatal(f.Name, err)
			}
		} else {
			f.DefValue = f.Value.String()
		}
	})
	for _, name := range []string{"type", "server", "fields", "column", "field", "input-format", "dedupe", "registrable", "ordered", "iana-only", "bootstrap-overrides", "demo"} {
		if !matters[name] {
			t.Errorf("--%s does not affect rows", name)
		}
	}
	for _, name := range []string{"jobs", "timeout", "rate", "resolve", "http", "quiet", "file"} {
		if matters[name] {
			t.Errorf("--%s affects rows", name)
		}
	}
}
