package main

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/rdapq/rdapq/internal/testrun"
)

func TestMain(m *testing.M) {
	testrun.More()
	testscript.Main(sigintRunner{m}, map[string]func(){"rdapq": main, "patient": patient, "measured": measured, "gated": gated})
}

// patient runs rdapq with a minute instead of a second for the refresh of IANA's files at
// the end. A slow machine needs more than a second.
func patient() {
	os.Exit(run(&app{grace: time.Minute}, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// gated runs rdapq with a --max-time, for a run with a file, that ends when standard input
// does.
func gated() {
	after := func(_ time.Duration, f func()) {
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			f()
		}()
	}
	os.Exit(run(&app{after: after}, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// A sigintRunner runs tests whose commands receive SIGINT, even if this process ignores it
// because it was started in the background. A signal with a handler has the default effect in
// child processes.
type sigintRunner struct{ *testing.M }

func (h sigintRunner) Run() int {
	if signal.Ignored(os.Interrupt) {
		signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	}
	return h.M.Run()
}

// quickRace keeps processes with the race detector from sleeping for a second at their end. A
// race still makes such processes fail.
const quickRace = "atexit_sleep_ms=0"

// nobody is an address without a listener. Port 1 is assigned, but not used in
// practice.
const nobody = "127.0.0.1:1"

// TestScripts runs the command as a process, with the scripts in testdata. In addition to the
// commands of testscript, they have these commands:
//
//	exits CODE rdapq ARG...       run it and check the exit code
//	exec patient ARG...           run it, see [patient]
//	write FILE PART...            write a file from parts with \n, \x00, and "a*70" for repetition
//	server NAME [OPTION...]       start a server, see [cmdServer]
//	answer NAME PATH HOW...       set its response, see [cmdAnswer]
//	counts NAME WHAT=N...         check its counts, see [cmdCounts]
//	asked NAME [HEADER...]        print the requests it received
//	iana [SERVICE...]             start a server for IANA, see [cmdIANA]
//	identity NAME                 write a client certificate, see [cmdIdentity]
//	proxy NAME                    start a proxy, see [cmdProxy]
//	proxied NAME N                check the number of tunnels
//	json FILE CHECK...            check a JSON document, see [cmdJSON]
//	rows FILE N                   check the number of rows of NDJSON
//	row FILE LINE CHECK...        check the row with that line number
//	chop FILE N                   remove N bytes from its end
//	gzip FROM TO                  compress a file
//	mounted DIR SIZE              mount a file system of that size (Linux, as root), see also [cmdRemounted]
//
// $CA is the CA file of all servers; $NOBODY is an address without a listener.
func TestScripts(t *testing.T) {
	t.Parallel()
	dirs, err := filepath.Glob(filepath.Join("testdata", "*"))
	if err != nil || len(dirs) == 0 {
		t.Fatal("no scripts", err)
	}
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			testscript.Run(t, testscript.Params{
				Dir: dir,
				Cmds: map[string]func(*testscript.TestScript, bool, []string){
					"exits": cmdExits, "write": cmdWrite,
					"server": cmdServer, "answer": cmdAnswer, "counts": cmdCounts, "asked": cmdAsked, "iana": cmdIANA,
					"identity": cmdIdentity, "proxy": cmdProxy, "proxied": cmdProxied,
					"json": cmdJSON, "rows": cmdRows, "row": cmdRow,
					"chop": cmdChop, "gzip": cmdGzip, "mounted": cmdMounted, "remounted": cmdRemounted,
				},
				Condition:           condition,
				Setup:               setup,
				RequireExplicitExec: true,
				RequireUniqueNames:  true,
			})
		})
	}
}

// setup confines a script to its own directory and to this machine.
func setup(env *testscript.Env) error {
	home := filepath.Join(env.WorkDir, "home")
	set := map[string]string{
		"HOME": home, "USERPROFILE": home, "AppData": home, "LocalAppData": home,
		"XDG_CACHE_HOME":  filepath.Join(home, "cache"),
		"XDG_CONFIG_HOME": filepath.Join(home, "config"),
		"XDG_STATE_HOME":  filepath.Join(home, "state"),
		"HTTPS_PROXY":     "http://" + nobody, // block requests to other machines
		"GORACE":          quickRace,
		"NOBODY":          nobody,
		"DOMAINS":         filepath.Join(repository(), "testdata", "domains.txt"),
	}
	for name, value := range set {
		env.Setenv(name, value)
	}
	w, err := newWorld(env)
	if err != nil {
		return err
	}
	env.Values[worldKey{}] = w
	env.Setenv("CA", w.caFile)
	env.Defer(w.close)
	return os.Mkdir(home, 0o777)
}

// repository returns the root directory of the module, two levels up.
func repository() string {
	dir, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		return ""
	}
	return dir
}

// condition implements [certfile] (crypto/x509 reads $SSL_CERT_FILE) and [root]
// (permissions have no effect).
func condition(cond string) (bool, error) {
	switch cond {
	case "certfile":
		return runtime.GOOS != "windows" && runtime.GOOS != "darwin" && runtime.GOOS != "ios", nil
	case "root":
		return os.Geteuid() == 0, nil
	}
	return false, errors.New("unknown condition")
}

func cmdExits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND ARG...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		got = exit.ExitCode()
	case err != nil:
		ts.Fatalf("%s: %v", args[1], err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// cmdWrite writes a file with bytes that a script cannot contain.
func cmdWrite(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: write FILE PART...")
	}
	var b strings.Builder
	for _, part := range args[1:] {
		n := 1
		if text, times, ok := strings.Cut(part, "*"); ok {
			var err error
			n, err = strconv.Atoi(times)
			ts.Check(err)
			part = text
		}
		text, err := strconv.Unquote(`"` + part + `"`)
		ts.Check(err)
		b.WriteString(strings.Repeat(text, n))
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(b.String()), 0o666))
}
