package pool

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"reflect"
	"runtime"
	"testing"

	"github.com/rdapq/rdapq/internal/rdaptest"
)

// shake shakes hands over a pipe and returns the session as it is saved.
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
	e := newSavedSession(keyed.key, store.Get(keyed.key))
	if e == nil {
		t.Fatal("no session")
	}
	e.live = nil
	return e
}

func FuzzSessionFile(f *testing.F) {
	one, two := shake(f, tls.VersionTLS13), shake(f, tls.VersionTLS12)
	two.key = SessionKey{Host: "h", Port: "1", QUIC: true, Trust: "named x", Identity: "y"}
	for _, all := range [][]*savedSession{nil, {one}, {one, two}, {{}}} {
		data := appendSessions(nil, all)
		f.Add(data[len(sessionMagic) : len(data)-4])
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		parseSessions(body)
		// With the magic line and the checksum in order, which no fuzzer guesses.
		all, err := parseSessions(sealed(body))
		if err != nil {
			return
		}
		again, err := parseSessions(appendSessions(nil, all))
		if err != nil || !reflect.DeepEqual(again, all) {
			t.Fatalf("%v: %d sessions became %d", err, len(all), len(again))
		}
		for _, e := range all {
			if s, err := loadSession(e.ticket, e.state); err == nil {
				copySession(s)
			}
		}
	})
}

// sealed makes a file of what stands between magic line and checksum.
func sealed(body []byte) []byte {
	data := append([]byte(sessionMagic), body...)
	return appendChecksum(data)
}

func TestSessionsOfAnotherGo(t *testing.T) {
	data := appendSessions(nil, []*savedSession{shake(t, tls.VersionTLS13)})
	body := data[len(sessionMagic) : len(data)-4]
	if _, err := parseSessions(sealed(body)); err != nil {
		t.Fatal(err)
	}
	other := bytes.Replace(body, []byte(runtime.Version()), bytes.Repeat([]byte("x"), len(runtime.Version())), 1)
	if all, err := parseSessions(sealed(other)); !errors.Is(err, errOtherGo) || all != nil {
		t.Errorf("got %d sessions, %v", len(all), err)
	}
}

func TestSessionFileHasRoomForSoMuch(t *testing.T) {
	e := &savedSession{state: make([]byte, maxSessionSize-64)}
	all := make([]*savedSession, maxSessionFile/maxSessionSize+10)
	for i := range all {
		all[i] = e
	}
	data := appendSessions(nil, all)
	if len(data) > maxSessionFile {
		t.Errorf("%d bytes", len(data))
	}
	if got, err := parseSessions(data); err != nil || len(got) < maxSessionFile/maxSessionSize-1 {
		t.Errorf("%d sessions, %v", len(got), err)
	}
}

// QUIC connections write to the session that they resume, so each gets a copy.
func TestQUICSessionsAreCopies(t *testing.T) {
	e := shake(t, tls.VersionTLS13)
	session, err := loadSession(e.ticket, e.state)
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

// HTTP/3 differs from TCP in its sessions and in ALPN, in nothing else.
func TestQUICConfig(t *testing.T) {
	store := newSessionCache(4)
	c := Config{TLS: &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13}}
	o := newTLSConfigs(c, []string{"h2", "h3"}, store).of(originKey{scheme: "https", host: "rdap.example", port: "443"})
	if got := o.config.NextProtos; len(got) != 1 || got[0] != "h2" {
		t.Errorf("TCP offers %q", got)
	}
	if got := o.quic.NextProtos; len(got) != 1 || got[0] != "h3" {
		t.Errorf("QUIC offers %q", got)
	}
	if !o.quic.InsecureSkipVerify || o.quic.ServerName != "rdap.example" || o.quic.MinVersion != tls.VersionTLS13 {
		t.Errorf("%+v", o.quic)
	}
	key := o.quic.ClientSessionCache.(*keyedSessions).key
	if key != (SessionKey{Host: "rdap.example", Port: "443", QUIC: true, Trust: "insecure"}) {
		t.Errorf("%+v", key)
	}
}
