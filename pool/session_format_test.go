package pool

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"runtime"
	"strconv"
	"testing"

	"github.com/rdapq/rdapq/internal/rdaptest"
)

// shake performs a handshake over a pipe and returns the session as it is stored.
func shake(t testing.TB, version uint16) *savedSession {
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
	store := newSessionCache(1)
	keyed := &keyedSessions{store: store, key: SessionKey{Host: "rdap.example", Port: "443"}}
	c := tls.Client(near, &tls.Config{RootCAs: ca.Pool(), ServerName: "rdap.example", ClientSessionCache: keyed})
	if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	e := newSavedSession(keyed.key, first(store.take(keyed.key, 0)))
	if e == nil {
		t.Fatal("no session")
	}
	e.state, e.live = [3][]byte{e.encoded()}, nil
	return e
}

func first[T, U any](v T, _ U) T { return v }

// table returns a table of sessions.
func table(all ...*savedSession) *sessionTable {
	t := newSessionTable(1000)
	for _, e := range all {
		t.add(e)
	}
	return t
}

// similar returns a session that resembles e, as a second ticket of the same connection does.
// It differs in its ticket and in the first and last bytes of its state.
func similar(e *savedSession, n byte) *savedSession {
	out, state := *e, e.encoded()
	state[20] += n
	state[len(state)-5] += n
	out.state = [3][]byte{state}
	out.ticket = append([]byte{n}, e.ticket...)
	out.stored += int64(n)
	return &out
}

func FuzzSessionFile(f *testing.F) {
	one, two := shake(f, tls.VersionTLS13), shake(f, tls.VersionTLS12)
	two.key = SessionKey{Host: "h", Port: "1", QUIC: true, Trust: "named x", Identity: "y"}
	for _, all := range [][]*savedSession{nil, {one}, {one, two}, {one, similar(one, 1), similar(one, 2), two}, {{ticket: []byte("t"), state: [3][]byte{[]byte("s")}}}} {
		data := appendSessions(nil, table(all...))
		f.Add(data[len(sessionMagic) : len(data)-4])
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		parseSessions(body)
		// Add a valid magic line and checksum, which a fuzzer does not guess.
		all, err := parseSessions(sealed(body))
		if err != nil {
			return
		}
		full := table(all...)
		again, err := parseSessions(appendSessions(nil, full))
		if err != nil {
			t.Fatal(err)
		}
		for e := range full.each() {
			if len(e.encoded()) == 0 {
				continue // the session was not written
			}
			if len(again) == 0 || again[0].key != e.key || again[0].stored != e.stored || again[0].version != e.version ||
				!bytes.Equal(again[0].ticket, e.ticket) || !bytes.Equal(again[0].encoded(), e.encoded()) {
				t.Fatalf("another session came back")
			}
			again = again[1:]
		}
		if len(again) > 0 {
			t.Fatalf("%d more sessions came back", len(again))
		}
		for _, e := range all {
			e.session()
		}
	})
}

// The sessions of one key share equal parts, in the file and in memory.
func TestSimilarSessionsAreStoredOnce(t *testing.T) {
	one := shake(t, tls.VersionTLS13)
	all := []*savedSession{one}
	for n := range byte(maxTickets - 1) {
		all = append(all, similar(one, n+1))
	}
	data := appendSessions(nil, table(all...))
	if most := len(one.encoded()) + maxTickets*(len(one.ticket)+250); len(data) > most {
		t.Errorf("%d sessions of %d bytes take %d bytes, want %d at most", len(all), len(one.encoded()), len(data), most)
	}
	got, err := parseSessions(data)
	if err != nil || len(got) != len(all) {
		t.Fatalf("%d sessions, %v", len(got), err)
	}
	for i, e := range got {
		if want := all[len(all)-1-i]; !bytes.Equal(e.encoded(), want.encoded()) || !bytes.Equal(e.ticket, want.ticket) {
			t.Errorf("session %d came back as another one", i)
		}
		if i > 0 && &e.state[1][0] != &got[0].state[0][len(e.state[0])] {
			t.Errorf("session %d has its own copy", i)
		}
	}
}

// sealed returns a file with the given content between magic line and checksum.
func sealed(body []byte) []byte {
	data := append([]byte(sessionMagic), body...)
	return appendChecksum(data)
}

func TestSessionsOfOtherGoVersion(t *testing.T) {
	data := appendSessions(nil, table(shake(t, tls.VersionTLS13)))
	body := data[len(sessionMagic) : len(data)-4]
	if _, err := parseSessions(sealed(body)); err != nil {
		t.Fatal(err)
	}
	other := bytes.Replace(body, []byte(runtime.Version()), bytes.Repeat([]byte("x"), len(runtime.Version())), 1)
	if all, err := parseSessions(sealed(other)); !errors.Is(err, errOtherGo) || all != nil {
		t.Errorf("got %d sessions, %v", len(all), err)
	}
}

func TestSessionFileSizeLimit(t *testing.T) {
	all := make([]*savedSession, maxSessionFile/maxSessionSize+10)
	for i := range all {
		all[i] = &savedSession{state: [3][]byte{make([]byte, maxSessionSize-64)}}
		all[i].key.Port = strconv.Itoa(i)
	}
	data := appendSessions(nil, table(all...))
	if len(data) > maxSessionFile {
		t.Errorf("%d bytes", len(data))
	}
	if got, err := parseSessions(data); err != nil || len(got) < maxSessionFile/maxSessionSize-1 {
		t.Errorf("%d sessions, %v", len(got), err)
	}
}

// A QUIC connection modifies the session that it resumes. A session that is being saved must
// not change.
func TestQUICSessionsAreCopies(t *testing.T) {
	e := shake(t, tls.VersionTLS13)
	session, err := e.session()
	if err != nil {
		t.Fatal(err)
	}
	_, state, _ := session.ResumptionState()
	state.EarlyData, state.Extra = true, [][]byte{[]byte("quic-go1")}
	store := newSessionCache(2)
	quic := &keyedSessions{store: store, key: SessionKey{Host: "h", QUIC: true}}
	quic.Put("", session)
	got, ok := quic.Get("")
	if !ok {
		t.Fatal("no session")
	}
	ticket, s, _ := got.ResumptionState()
	if !s.EarlyData || len(s.Extra) != 1 || string(s.Extra[0]) != "quic-go1" || !bytes.Equal(ticket, e.ticket) {
		t.Errorf("early data %v, extra %q", s.EarlyData, s.Extra)
	}
	s.EarlyData = false
	if !state.EarlyData {
		t.Error("the stored session was written to")
	}
	tcp := &keyedSessions{store: store, key: SessionKey{Host: "h"}}
	tcp.Put("", session)
	if got, _ := tcp.Get(""); got != session {
		t.Error("a copy for TCP, where none is needed")
	}
}

// HTTP/3 differs from TCP only in its sessions and in ALPN.
func TestQUICConfig(t *testing.T) {
	store := newSessionCache(4)
	c := Config{TLS: &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13}}
	o := newTLSConfigs(c, []string{"h2", "h3"}, store).forOrigin(originKey{scheme: "https", host: "rdap.example", port: "443"})
	if got := o.tcp().NextProtos; len(got) != 1 || got[0] != "h2" {
		t.Errorf("TCP offers %q", got)
	}
	quic := o.quic()
	if got := quic.NextProtos; len(got) != 1 || got[0] != "h3" {
		t.Errorf("QUIC offers %q", got)
	}
	if !quic.InsecureSkipVerify || quic.ServerName != "rdap.example" || quic.MinVersion != tls.VersionTLS13 {
		t.Errorf("%+v", quic)
	}
	key := quic.ClientSessionCache.(*keyedSessions).key
	if key != (SessionKey{Host: "rdap.example", Port: "443", QUIC: true, Trust: "insecure"}) {
		t.Errorf("%+v", key)
	}
}
