package pool_test

import (
	"crypto/tls"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Sessions that cannot be written stay in memory, and are written later.
func TestSessionsThatCannotBeSaved(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	path := filepath.Join(dir, "sessions")
	f, _ := openSessions(t, path, 0)
	f.PutState(host(1), newSession(t, tls.VersionTLS13))
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := f.Flush(); err == nil {
		t.Error("saved into a file as if it were a directory")
	}
	if f.Peek(host(1)) == nil {
		t.Error("the session is gone")
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	f.PutState(host(2), newSession(t, tls.VersionTLS13))
	flush(t, f)
	g, _ := openSessions(t, path, 0)
	if got := has(g, 3); len(got) != 2 {
		t.Errorf("saved: %v, want 1 and 2", got)
	}
}

// A process that ended during a write leaves its temporary file.
func TestLeftOverTemporaryFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions")
	if err := os.WriteFile(path+".tmp", []byte("half"), 0o644); err != nil {
		t.Fatal(err)
	}
	f, _ := openSessions(t, path, 0)
	f.PutState(host(1), newSession(t, tls.VersionTLS13))
	flush(t, f)
	if _, err := os.Stat(path + ".tmp"); err == nil {
		t.Error("it is still there")
	}
	if g, said := openSessions(t, path, 0); g.Peek(host(1)) == nil {
		t.Error(said)
	}
}

// Changes are written together after a while, not one by one.
func TestSessionsAreSavedInTime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions")
	session := newSession(t, tls.VersionTLS13)
	synctest.Test(t, func(t *testing.T) {
		f, _ := openSessions(t, path, 0)
		f.PutState(host(1), session)
		time.Sleep(10 * time.Second)
		f.PutState(host(2), session)
		if _, err := os.Stat(path); err == nil {
			t.Error("written after ten seconds")
		}
		time.Sleep(6 * time.Second)
		synctest.Wait()
		g, _ := openSessions(t, path, 0)
		if got := has(g, 3); len(got) != 2 {
			t.Errorf("saved %v after 16 seconds, want 1 and 2", got)
		}
		// The store does the same for later changes.
		f.PutState(host(0), session)
		time.Sleep(16 * time.Second)
		synctest.Wait()
		g, _ = openSessions(t, path, 0)
		if got := has(g, 3); len(got) != 3 {
			t.Errorf("saved %v after 32 seconds, want all", got)
		}
	})
}

func TestSessionFilesMerge(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions")
	old, newer := newSession(t, tls.VersionTLS13), newSession(t, tls.VersionTLS13)
	a, _ := openSessions(t, path, 0)
	a.PutState(host(0), old)
	a.PutState(host(1), old)
	a.PutState(host(2), old)
	flush(t, a)
	b, _ := openSessions(t, path, 0)

	// No session of another process is lost, and the newest session takes precedence, whichever
	// process writes last.
	b.PutState(host(3), old)
	a.PutState(host(1), old)
	b.PutState(host(1), newer)
	flush(t, b)
	a.PutState(host(4), old)
	flush(t, a)
	c, _ := openSessions(t, path, 0)
	if got := has(c, 6); len(got) != 5 {
		t.Errorf("saved %v, want 0 to 4", got)
	}
	sameSession(t, newer, c.Peek(host(1)))
	// A save also reads the sessions of other processes.
	sameSession(t, newer, a.Peek(host(1)))
	if got := has(a, 6); len(got) != 5 {
		t.Errorf("one process has %v, want 0 to 4", got)
	}

	// A session that the server refused is removed, and no other process restores it.
	b.PutState(host(2), nil)
	flush(t, b)
	a.PutState(host(5), old)
	flush(t, a)
	c, _ = openSessions(t, path, 0)
	if c.Peek(host(2)) != nil {
		t.Error("a refused session is back")
	}
	// A removal does not affect a newer session.
	a.PutState(host(0), newer)
	flush(t, a)
	b.PutState(host(0), nil)
	flush(t, b)
	c, _ = openSessions(t, path, 0)
	sameSession(t, newer, c.Peek(host(0)))
}

func TestConcurrentSessionFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions")
	session := newSession(t, tls.VersionTLS13)
	f, _ := openSessions(t, path, 50)
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 50 {
				f.PutState(host(w*50+i), session)
				f.Peek(host(i))
				if i%10 == w {
					if err := f.Flush(); err != nil {
						t.Error(err)
					}
					f.PutState(host(i), nil)
				}
			}
		})
	}
	wg.Wait()
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

// childEnv is set in a child process of TestSessionFileOfManyProcesses, to its number and the
// path of the file.
const childEnv = "RDAPQ_POOL_TEST_SESSIONS"

const childSessions = 20

func TestSessionFileOfManyProcesses(t *testing.T) {
	if args := os.Getenv(childEnv); args != "" {
		sessionChild(t, args)
		return
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	const n = 4
	path := filepath.Join(t.TempDir(), "sessions")
	f, _ := openSessions(t, path, 0)
	f.PutState(host(n*childSessions), newSession(t, tls.VersionTLS13))
	flush(t, f)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			cmd := exec.CommandContext(t.Context(), exe, "-test.run=^"+t.Name()+"$")
			cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d %s", childEnv, i, path))
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("process %d: %v\n%s", i, err, out)
			}
		})
	}
	wg.Wait()
	g, said := openSessions(t, path, 0)
	if got := has(g, n*childSessions+1); len(got) != n*childSessions || said.Len() > 0 {
		t.Errorf("saved %d sessions, want %d; log: %s", len(got), n*childSessions, said)
	}
}

// sessionChild stores sessions, one per save, and drops the session with which all processes
// began.
func sessionChild(t *testing.T, args string) {
	number, path, _ := strings.Cut(args, " ")
	n, err := strconv.Atoi(number)
	if err != nil {
		t.Fatal(err)
	}
	f, said := openSessions(t, path, 0)
	session := newSession(t, tls.VersionTLS13)
	for i := range childSessions {
		f.PutState(host(n*childSessions+i), session)
		for f.Flush() != nil {
			// Another process held the lock for too long. The session has not been saved.
		}
	}
	f.PutState(host(4*childSessions), nil)
	for f.Close() != nil {
	}
	if said.Len() > 0 {
		t.Fatal(said)
	}
}
