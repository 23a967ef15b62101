package pool_test

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/pool"
)

// newSession performs a handshake over a pipe and returns the session.
func newSession(t testing.TB, version uint16) *tls.ClientSessionState {
	t.Helper()
	ca, err := rdaptest.NewCA()
	if err != nil {
		t.Fatal(err)
	}
	cert, err := ca.Certificate("rdap.example")
	if err != nil {
		t.Fatal(err)
	}
	near, far := net.Pipe()
	defer near.Close()
	go func() {
		c := tls.Server(far, &tls.Config{Certificates: []tls.Certificate{cert}, MaxVersion: version})
		io.WriteString(c, "x")
		io.Copy(io.Discard, c)
		far.Close()
	}()
	var kept lastSession
	c := tls.Client(near, &tls.Config{RootCAs: ca.Pool(), ServerName: "rdap.example", ClientSessionCache: &kept})
	if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if kept.session == nil {
		t.Fatal("the server sent no session")
	}
	return kept.session
}

type lastSession struct{ session *tls.ClientSessionState }

func (l *lastSession) Get(string) (*tls.ClientSessionState, bool)    { return nil, false }
func (l *lastSession) Put(_ string, session *tls.ClientSessionState) { l.session = session }

// openSessions opens a session file. said holds its log records of level Warn and above.
func openSessions(t testing.TB, path string, most int) (f *pool.SessionFile, said *bytes.Buffer) {
	t.Helper()
	said = new(bytes.Buffer)
	f, err := pool.OpenSessionFile(path, most, slog.New(slog.NewTextHandler(said, &slog.HandlerOptions{Level: slog.LevelWarn})))
	if err != nil {
		t.Fatal(err)
	}
	return f, said
}

func flush(t testing.TB, f *pool.SessionFile) {
	t.Helper()
	if err := f.Flush(); err != nil {
		t.Fatal(err)
	}
}

func host(n int) pool.SessionKey {
	return pool.SessionKey{Host: fmt.Sprintf("h%d.example", n), Port: "443", Trust: "system"}
}

// has returns the numbers below n for which f has sessions.
func has(f *pool.SessionFile, n int) (all []int) {
	for i := range n {
		if f.Peek(host(i)) != nil {
			all = append(all, i)
		}
	}
	return all
}

func sameSession(t *testing.T, a, b *tls.ClientSessionState) {
	t.Helper()
	if a == nil || b == nil {
		t.Fatalf("sessions %v and %v", a, b)
	}
	ticketA, stateA, _ := a.ResumptionState()
	ticketB, stateB, _ := b.ResumptionState()
	bytesA, errA := stateA.Bytes()
	bytesB, errB := stateB.Bytes()
	if errA != nil || errB != nil || !bytes.Equal(ticketA, ticketB) || !bytes.Equal(bytesA, bytesB) {
		t.Errorf("another session came back (%v, %v)", errA, errB)
	}
}

// The file stores the data that quic-go adds to a session, and the permission of early data.
func TestSessionFileRoundTrip(t *testing.T) {
	versions(t, func(t *testing.T, version uint16) {
		path := filepath.Join(t.TempDir(), "sessions")
		ticket, state, err := newSession(t, version).ResumptionState()
		if err != nil {
			t.Fatal(err)
		}
		state.Extra = append(state.Extra, []byte("quic-go1\x05parameters"), nil, []byte("settings"))
		state.EarlyData = version == tls.VersionTLS13
		in, err := tls.NewResumptionState(ticket, state)
		if err != nil {
			t.Fatal(err)
		}
		keys := []pool.SessionKey{
			host(1),
			{Host: "h1.example", Port: "443", Trust: "system", QUIC: true},
			{Host: "2001:db8::1", Port: "8443", Trust: "named ü\x00\n", Identity: strings.Repeat("ab", 32)},
			{},
		}
		f, _ := openSessions(t, path, 0)
		for _, k := range keys {
			f.PutState(k, in)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		f, said := openSessions(t, path, 0)
		for _, k := range keys {
			out := f.Peek(k)
			sameSession(t, in, out)
			if _, s, _ := out.ResumptionState(); s.EarlyData != state.EarlyData || len(s.Extra) != 3 || string(s.Extra[2]) != "settings" {
				t.Errorf("%+v: early data %v, extra %q", k, s.EarlyData, s.Extra)
			}
		}
		if f.Peek(host(2)) != nil || f.Peek(pool.SessionKey{Host: "h1.example", Port: "443", Trust: "insecure"}) != nil {
			t.Error("a session under a key that has none")
		}
		if said.Len() > 0 {
			t.Error(said)
		}
	})
}

func TestSessionFileIsPrivate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no permission bits")
	}
	dir := filepath.Join(t.TempDir(), "a", "b")
	path := filepath.Join(dir, "sessions")
	f, _ := openSessions(t, path, 0)
	f.PutState(host(1), newSession(t, tls.VersionTLS13))
	flush(t, f)
	for name, want := range map[string]os.FileMode{
		filepath.Dir(dir): 0o700 | os.ModeDir, dir: 0o700 | os.ModeDir, path: 0o600, path + ".lock": 0o600,
	} {
		if info, err := os.Stat(name); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v, want %v", name, info.Mode(), err, want)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 2 {
		t.Errorf("in the directory: %v, %v", left, err)
	}

	// Other users could have read or written a file with these modes.
	for _, mode := range []os.FileMode{0o644, 0o660, 0o602} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		g, said := openSessions(t, path, 0)
		if g.Peek(host(1)) != nil {
			t.Errorf("a file of mode %v is believed", mode)
		}
		if !strings.Contains(said.String(), path) {
			t.Errorf("no word about mode %v: %s", mode, said)
		}
		g.PutState(host(1), newSession(t, tls.VersionTLS13))
		flush(t, g)
		if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
			t.Errorf("replaced by one of mode %v, %v", info.Mode(), err)
		}
		if h, _ := openSessions(t, path, 0); h.Peek(host(1)) == nil {
			t.Error("the replacement is not believed")
		}
	}
}

func TestBrokenSessionFileIsReplaced(t *testing.T) {
	dir := t.TempDir()
	good := filepath.Join(dir, "good")
	f, _ := openSessions(t, good, 0)
	f.PutState(host(1), newSession(t, tls.VersionTLS13))
	flush(t, f)
	data, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	flipped := bytes.Clone(data)
	flipped[len(flipped)/2] ^= 1
	for name, test := range map[string]struct {
		data   []byte
		silent bool
	}{
		"empty":     {nil, false},
		"cut":       {data[:len(data)-1], false},
		"cut short": {data[:30], false},
		"longer":    {append(bytes.Clone(data), 0), false},
		"flipped":   {flipped, false},
		"foreign":   {[]byte(`{"sessions":[]}`), false},
		"zeros":     {make([]byte, 4096), false},
		"older":     {bytes.Replace(data, []byte("sessions 2\n"), []byte("sessions 1\n"), 1), true},
		"huge":      {append(bytes.Clone(data), make([]byte, 33<<20)...), false},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "sessions")
			if err := os.WriteFile(path, test.data, 0o600); err != nil {
				t.Fatal(err)
			}
			f, said := openSessions(t, path, 0)
			if f.Peek(host(1)) != nil {
				t.Error("a session came out")
			}
			if strings.Contains(said.String(), path) == test.silent {
				t.Errorf("log: %s", said)
			}
			f.PutState(host(2), newSession(t, tls.VersionTLS13))
			flush(t, f)
			g, said := openSessions(t, path, 0)
			if g.Peek(host(2)) == nil || said.Len() > 0 {
				t.Errorf("not replaced; log: %s", said)
			}
		})
	}
}

func TestMissingSessionFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"", dir, filepath.Join(file, "sessions"), filepath.Join(file, "deeper", "sessions")} {
		if _, err := pool.OpenSessionFile(path, 0, nil); err == nil {
			t.Errorf("%q opened", path)
		}
	}
}

func TestSessionFileIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions")
	session := newSession(t, tls.VersionTLS13)
	f, _ := openSessions(t, path, 10)
	for i := range 25 {
		f.PutState(host(i), session)
	}
	if got := has(f, 25); len(got) != 10 || got[0] != 15 {
		t.Errorf("kept %v, want the newest ten", got)
	}
	flush(t, f)
	g, _ := openSessions(t, path, 0)
	if got := has(g, 25); len(got) != 10 || got[0] != 15 {
		t.Errorf("saved %v, want the newest ten", got)
	}
	h, _ := openSessions(t, path, 3)
	if got := has(h, 25); len(got) != 3 || got[0] != 22 {
		t.Errorf("read %v, want the newest three", got)
	}
	// A session that is much too large is not stored.
	ticket, state, _ := session.ResumptionState()
	state.Extra = [][]byte{make([]byte, 1<<20)}
	large, err := tls.NewResumptionState(ticket, state)
	if err != nil {
		t.Fatal(err)
	}
	f.PutState(host(25), large)
	if f.Peek(host(25)) != nil {
		t.Error("kept a session of a megabyte")
	}
}

func TestSavedSessionsExpire(t *testing.T) {
	for _, test := range []struct {
		version uint16
		age     time.Duration
		want    bool
	}{
		{tls.VersionTLS12, 23 * time.Hour, true},
		{tls.VersionTLS12, 25 * time.Hour, false},
		{tls.VersionTLS13, 25 * time.Hour, true},
		{tls.VersionTLS13, 6*24*time.Hour + 23*time.Hour, true},
		{tls.VersionTLS13, 7*24*time.Hour + time.Hour, false},
		{tls.VersionTLS13, -time.Hour / 2, true},
		{tls.VersionTLS13, -2 * time.Hour, false}, // the clock was or is wrong
	} {
		t.Run(fmt.Sprintf("%s after %v", tls.VersionName(test.version), test.age), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "sessions")
			session := newSession(t, test.version)
			const ahead = 24 * time.Hour // time passes before the clock is set back
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(ahead)
				f, _ := openSessions(t, path, 0)
				f.PutState(host(1), session)
				if err := f.Close(); err != nil {
					t.Fatal(err)
				}
			})
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(ahead + test.age)
				f, _ := openSessions(t, path, 0)
				f.PutState(host(2), session)
				flush(t, f)
				before, err := os.Stat(path)
				if err != nil {
					t.Fatal(err)
				}
				if got := f.Peek(host(1)) != nil; got != test.want {
					t.Errorf("offered: %v, want %v", got, test.want)
				}
				f.PutState(host(2), nil)
				flush(t, f)
				after, err := os.Stat(path)
				if err != nil {
					t.Fatal(err)
				}
				// One of two sessions, or the only session, was removed from the file.
				if left := after.Size() > 200; left != test.want || after.Size() >= before.Size() {
					t.Errorf("file of %d bytes, then %d; want the session in it: %v", before.Size(), after.Size(), test.want)
				}
				if err := f.Close(); err != nil {
					t.Fatal(err)
				}
			})
		})
	}
}
