package main

import (
	"errors"
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
	testscript.Main(hearing{m}, map[string]func(){"rdapq": main, "patient": patient, "measured": measured})
}

// patient is rdapq that has a minute at its end to refresh IANA's files, which
// takes a slow machine more than a second.
func patient() {
	os.Exit(run(&app{grace: time.Minute}, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// A hearing runs tests whose commands hear SIGINT, even if this process was
// started in the background and is to ignore it, as they would then: a signal
// with a handler has its default effect in what is started.
type hearing struct{ *testing.M }

func (h hearing) Run() int {
	if signal.Ignored(os.Interrupt) {
		signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	}
	return h.M.Run()
}

// quickRace keeps each process of a test with -race from sleeping for a second at
// its end. A race still makes it fail.
const quickRace = "atexit_sleep_ms=0"

// nobody is where nobody listens. Port 1 is assigned, and in use nowhere.
const nobody = "127.0.0.1:1"

// TestScripts runs the command as a process, by the scripts below testdata.
// They use, beside what testscript has:
//
//	exits CODE rdapq ARG...       run it and want this exit code
//	exec patient ARG...           run it, see [patient]
//	write FILE PART...            write a file from parts with \n, \x00, and "a*70" for repetition
//	server NAME [OPTION...]       start a server, see [cmdServer]
//	answer NAME PATH HOW...       make it answer otherwise, see [cmdAnswer]
//	counts NAME WHAT=N...         want these counts of its own, see [cmdCounts]
//	asked NAME [HEADER...]        print the requests that it got
//	iana [SERVICE...]             stand in for IANA, see [cmdIANA]
//	identity NAME                 write a client certificate, see [cmdIdentity]
//	proxy NAME                start a proxy, see [cmdProxy]
//	proxied NAME N            want N connections to have gone through it
//	json FILE CHECK...            check a JSON document, see [cmdJSON]
//	rows FILE N                   want N rows of NDJSON, each line number once
//	row FILE LINE CHECK...        check the row with that line number
//	chop FILE N                   cut N octets off its end
//	gzip FROM TO                  compress a file
//	mounted FOLDER SIZE           make a folder a disk of that size (Linux, as root), see also [cmdRemounted]
//
// $CA holds the authority of all servers, and nobody listens at $NOBODY.
func TestScripts(t *testing.T) {
	t.Parallel()
	folders, err := filepath.Glob(filepath.Join("testdata", "*"))
	if err != nil || len(folders) == 0 {
		t.Fatal("no scripts", err)
	}
	for _, folder := range folders {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			t.Parallel()
			testscript.Run(t, testscript.Params{
				Dir: folder,
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

// setup keeps a script to its own folder and machine.
func setup(env *testscript.Env) error {
	home := filepath.Join(env.WorkDir, "home")
	set := map[string]string{
		"HOME": home, "USERPROFILE": home, "AppData": home, "LocalAppData": home,
		"XDG_CACHE_HOME":  filepath.Join(home, "cache"),
		"XDG_CONFIG_HOME": filepath.Join(home, "config"),
		"XDG_STATE_HOME":  filepath.Join(home, "state"),
		"HTTPS_PROXY":     "http://" + nobody, // whatever is not on this machine
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

// repository is the folder of the module, where tests are run from two below.
func repository() string {
	dir, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		return ""
	}
	return dir
}

// condition knows [certfile]: crypto/x509 reads $SSL_CERT_FILE here; and [root]:
// permissions mean nothing.
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

// cmdWrite writes bytes that can't stand in a script.
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
