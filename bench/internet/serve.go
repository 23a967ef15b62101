//go:build linux

package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/rdapq/rdapq/internal/rdaptest"
)

// A count holds the counts of one host.
type count struct {
	Requests int           // total number of requests
	Answered int           // requests answered with a record or an RDAP 404
	Refused  int           // requests over the limit
	Faults   int           // requests answered with a random 503 or 403
	Conns    int           // connections
	First    time.Duration // time of the first request, since the start of counting
	Last     time.Duration
	Windows  []window // windows of the quota
}

// A window holds the counts of one window of a quota.
type window struct {
	Begin             time.Duration // start of the window, since the start of counting
	Accepted, Refused int
}

// A site is a host with its state while it is served.
type site struct {
	*profile
	mu      sync.Mutex
	count   count
	start   time.Time // start of the current window
	used    int
	blocked time.Time // the host refuses all requests until this time
}

// A stand is the server of all hosts.
type stand struct {
	sites map[string]*site
	began time.Time
	certs sync.Map // holds *tls.Certificate by host
	ca    *rdaptest.CA
}

// serve runs the name server and the RDAP servers of a world. It prints "ready" and then, for
// each line that it reads, the counts of all hosts since the last line. Clients must trust
// ca.pem in dir.
func serve(dir string) error {
	w, err := readWorld(filepath.Join(dir, "snapshot.json"))
	if err != nil {
		return err
	}
	ca, err := rdaptest.NewCA()
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "ca.pem"), ca.PEM(), 0o600); err != nil {
		return err
	}
	st := &stand{sites: make(map[string]*site), began: time.Now(), ca: ca}
	for host, p := range w.Profiles {
		st.sites[host] = &site{profile: p}
	}
	if err := st.dns(); err != nil {
		return err
	}
	l, err := net.Listen("tcp", "0.0.0.0:443")
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler:     st,
		IdleTimeout: 60 * time.Second,
		ErrorLog:    log.New(io.Discard, "", 0),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, connKey{}, new(connState))
		},
	}
	base := &tls.Config{GetCertificate: st.certificate, NextProtos: []string{"h2", "http/1.1"}}
	old := base.Clone()
	old.NextProtos = []string{"http/1.1"}
	base.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		s := st.sites[hello.ServerName]
		switch {
		case s == nil:
			return nil, errors.New("no such host")
		case s.HTTP1:
			return old, nil
		}
		return nil, nil
	}
	server.TLSConfig = base
	go server.ServeTLS(l, "", "")
	fmt.Println("ready")
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		if err := json.NewEncoder(os.Stdout).Encode(st.counts()); err != nil {
			return err
		}
	}
	return nil
}

type connKey struct{}

type connState struct {
	mu       sync.Mutex
	requests int
}

func (st *stand) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	if c, ok := st.certs.Load(hello.ServerName); ok {
		return c.(*tls.Certificate), nil
	}
	c, err := st.ca.Certificate(hello.ServerName)
	if err != nil {
		return nil, err
	}
	st.certs.Store(hello.ServerName, &c)
	return &c, nil
}

// counts returns and resets the counts.
func (st *stand) counts() map[string]count {
	out := make(map[string]count)
	for host, s := range st.sites {
		s.mu.Lock()
		if s.count.Requests > 0 {
			out[host] = s.count
		}
		s.count = count{}
		s.start, s.used, s.blocked = time.Time{}, 0, time.Time{}
		s.mu.Unlock()
	}
	st.began = time.Now()
	return out
}

// A fate is the decision about a request.
type fate int

const (
	answered fate = iota
	refused
	faulty
	silent
)

// admit returns the decision about a request. For a refused request it also returns when the
// host accepts requests again.
func (s *site) admit(began, now time.Time) (f fate, retry time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.count.Requests == 0 {
		s.count.First = now.Sub(began)
	}
	s.count.Requests++
	s.count.Last = now.Sub(began)
	switch s.Quirk {
	case dead:
		return silent, 0
	case wafAlways:
		s.count.Refused++
		return refused, 0
	case flaky, wafNow:
		if rand.IntN(100) == 0 {
			s.count.Faults++
			return faulty, 0
		}
	}
	n, period := s.quota()
	if n == 0 {
		s.count.Answered++
		return answered, 0
	}
	if now.Before(s.blocked) {
		s.blocked = now.Add(15 * time.Second)
		s.count.Refused++
		return refused, 15 * time.Second
	}
	if now.Sub(s.start) >= period {
		s.start, s.used = now, 0
		s.count.Windows = append(s.count.Windows, window{Begin: now.Sub(began)})
	}
	win := &s.count.Windows[len(s.count.Windows)-1]
	if s.used >= n {
		s.count.Refused++
		win.Refused++
		retry = s.start.Add(period).Sub(now)
		if s.Quirk == penalty {
			retry = 15 * time.Second
			s.blocked = now.Add(retry)
		}
		return refused, retry
	}
	s.used++
	s.count.Answered++
	win.Accepted++
	return answered, 0
}

func (st *stand) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s := st.sites[r.TLS.ServerName]
	if c, ok := r.Context().Value(connKey{}).(*connState); ok {
		c.mu.Lock()
		c.requests++
		if c.requests == 1 {
			s.mu.Lock()
			s.count.Conns++
			s.mu.Unlock()
		}
		if s.CloseAt > 0 && c.requests >= s.CloseAt {
			w.Header().Set("Connection", "close")
		}
		c.mu.Unlock()
	}
	f, retry := s.admit(st.began, time.Now())
	if f == silent {
		<-r.Context().Done()
		return
	}
	time.Sleep(s.Latency)
	html := func(status int) {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "<html><body><h1>Request blocked</h1></body></html>")
	}
	switch {
	case f == faulty && s.Quirk == flaky:
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	case f == faulty, f == refused && (s.Quirk == wafRate || s.Quirk == wafAlways):
		html(http.StatusForbidden)
		return
	case f == refused:
		if s.Quirk == quotaTold || s.Quirk == penalty {
			w.Header().Set("Retry-After", strconv.Itoa(int((retry+time.Second-1)/time.Second)))
		}
		w.WriteHeader(http.StatusTooManyRequests)
		return
	}
	name := path.Base(r.URL.Path)
	w.Header().Set("Content-Type", "application/rdap+json")
	if isFree(name) {
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"errorCode":404,"title":"not found"}`)
		return
	}
	fmt.Fprintf(w, record, name, name)
}

// record is the format of a name's record, as large as a registry's.
var record = `{"objectClassName":"domain","handle":"D-%s","ldhName":"%s","status":["client transfer prohibited"],
"events":[{"eventAction":"registration","eventDate":"2019-01-02T03:04:05Z"},{"eventAction":"expiration","eventDate":"2029-01-02T03:04:05Z"}],
"entities":[{"objectClassName":"entity","handle":"9999","roles":["registrar"],"publicIds":[{"type":"IANA Registrar ID","identifier":"9999"}],
"vcardArray":["vcard",[["version",{},"text","4.0"],["fn",{},"text","Example Registrar"]]]}],
"nameservers":[{"objectClassName":"nameserver","ldhName":"ns1.example.net"},{"objectClassName":"nameserver","ldhName":"ns2.example.net"}],
"secureDNS":{"delegationSigned":false},"rdapConformance":["rdap_level_0"],
"notices":[{"title":"Terms of Use","description":["` + strings.Repeat("A sentence as long as those of registries are. ", 20) + `"]}]}`

// dns starts a name server for the names of all hosts.
func (st *stand) dns() error {
	pc, err := net.ListenPacket("udp", dnsAddress+":53")
	if err != nil {
		return err
	}
	go func() {
		buf := make([]byte, 1500)
		for {
			n, from, err := pc.ReadFrom(buf)
			if err != nil {
				return
			}
			if reply := st.resolve(buf[:n]); reply != nil {
				_, _ = pc.WriteTo(reply, from)
			}
		}
	}()
	return nil
}

func (st *stand) resolve(question []byte) []byte {
	var m dnsmessage.Message
	if m.Unpack(question) != nil || len(m.Questions) != 1 {
		return nil
	}
	q := m.Questions[0]
	m.Header = dnsmessage.Header{ID: m.ID, Response: true, RecursionAvailable: true, RecursionDesired: m.RecursionDesired}
	m.Additionals = nil
	host := strings.ToLower(strings.TrimSuffix(q.Name.String(), "."))
	if st.sites[host] == nil {
		m.RCode = dnsmessage.RCodeNameError
	} else if q.Type == dnsmessage.TypeA {
		m.Answers = []dnsmessage.Resource{{
			Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, TTL: 300},
			Body:   &dnsmessage.AResource{A: addressOf(host).As4()},
		}}
	}
	reply, err := m.Pack()
	if err != nil {
		return nil
	}
	return reply
}
