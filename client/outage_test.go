package client_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/limit"
	"github.com/rdapq/rdapq/pool"
)

// A lossCounter is a transport that counts requests in an outage. These begin after the end of
// the first failed request, and before the next useful response.
type lossCounter struct {
	http.RoundTripper
	mu      sync.Mutex
	failed  bool
	after   int
	settled bool
}

func (l *lossCounter) RoundTrip(req *http.Request) (*http.Response, error) {
	l.mu.Lock()
	probe := l.failed && !l.settled
	if probe {
		l.after++
	}
	l.mu.Unlock()
	resp, err := l.RoundTripper.RoundTrip(req)
	if err != nil || resp.StatusCode >= 500 {
		l.ended(true, probe)
	} else {
		resp.Body = lossBody{resp.Body, func(err error) { l.ended(err != io.EOF, probe) }}
	}
	return resp, err
}

func (l *lossCounter) ended(bad, probe bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case bad:
		l.failed = true
	case probe:
		l.settled = true
	}
}

// A lossBody reports how the body of a response ends.
type lossBody struct {
	io.ReadCloser
	ended func(error)
}

func (b lossBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.ended(err)
	}
	return n, err
}

func writeDomain(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/rdap+json")
	fmt.Fprintf(w, `{"objectClassName":"domain","ldhName":%q}`, path.Base(r.URL.Path))
}

func outageNames(n int) (texts []string) {
	for i := range n {
		texts = append(texts, fmt.Sprintf("n%d.example", i))
	}
	return texts
}

// TestBatchOutage checks that a server that is away for six seconds in the middle of a batch
// costs no line. The server gets few requests meanwhile, however it is away. The test uses the
// clock of a bubble, because on a loaded machine requests would time out without an outage.
func TestBatchOutage(t *testing.T) {
	t.Parallel() // the test mostly waits
	for _, way := range []string{"503", "502", "reset", "refused", "silent", "half a body"} {
		for _, protocols := range []rdaptest.Protocols{rdaptest.H2Only, rdaptest.H1Only} {
			if protocols == rdaptest.H1Only && way != "silent" && way != "half a body" {
				continue
			}
			bubble(t, fmt.Sprintf("%s %d", way, protocols), func(t *testing.T) { testOutage(t, way, protocols) })
		}
	}
}

func testOutage(t *testing.T, way string, protocols rdaptest.Protocols) {
	const lineCount, middle, away = 3000, 1000, 6 * time.Second
	var out atomic.Bool
	var served atomic.Int64
	var s *rdaptest.Server
	begin := sync.OnceFunc(func() {
		out.Store(true)
		if way == "refused" {
			s.SetConnRules(rdaptest.ConnRules{Refuse: true})
			s.CloseConns()
		}
		time.AfterFunc(away, func() {
			out.Store(false)
			s.SetConnRules(rdaptest.ConnRules{})
		})
	})
	ca := newCA(t)
	network := new(rdaptest.Network)
	ready := make(chan struct{})
	s = rdaptest.Start(t, rdaptest.Config{CA: ca, Network: network, Protocols: protocols, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		<-ready
		if served.Add(1) > middle {
			begin()
		}
		time.Sleep(5 * time.Millisecond)
		if !out.Load() {
			writeDomain(w, r)
			return
		}
		switch way {
		case "503":
			w.WriteHeader(http.StatusServiceUnavailable)
		case "502":
			w.WriteHeader(http.StatusBadGateway)
		case "half a body":
			w.Header().Set("Content-Type", "application/rdap+json")
			io.WriteString(w, `{"objectClassName":`)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
			panic(http.ErrAbortHandler) // a return would end the body as if it were complete
		case "silent":
			<-r.Context().Done()
		default:
			panic(http.ErrAbortHandler)
		}
	})})
	close(ready)
	p, err := pool.New(pool.Config{AllowPrivate: true, TLS: &tls.Config{RootCAs: ca.Pool()}, Dial: network.Dial})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	l := &lossCounter{RoundTripper: p}
	var holds sync.Map
	c, err := client.New(client.Config{Transport: l, Resolver: urls{s.URL()}, Timeout: time.Second, OnHold: func(h client.Hold) { holds.Store(h.Reason, h) }})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	count := 0
	for r := range c.Batch(t.Context(), lines(outageNames(lineCount)...)).All() {
		if count++; r.Verdict != client.VerdictRegistered {
			t.Errorf("%s: %v", describe(r), client.ErrorOf(r))
		}
	}
	if count != lineCount {
		t.Errorf("%d results", count)
	}
	if l.after == 0 || l.after > 20 || !l.settled {
		t.Errorf("%d requests were sent after the first that failed, a useful response to one of them: %t", l.after, l.settled)
	}
	if h, ok := holds.Load(client.HoldOutage); !ok || h.(client.Hold).Server != s.Addr() {
		t.Errorf("the outage was announced as %+v", h)
	}
	t.Logf("%d requests after the first that failed, %d in all", l.after, served.Load())
}

// A server that refuses connections is probed at the intervals of an outage although all
// of its few lines have failed several times. After --max-wait they fail.
func TestBatchOutageOfFewLines(t *testing.T) {
	const maxWait = 30 * time.Second
	for name, c := range map[string]struct {
		away    time.Duration
		verdict client.Verdict
		within  time.Duration
	}{
		"for a while": {away: 9 * time.Second, verdict: client.VerdictRegistered, within: 13 * time.Second},
		"for good":    {away: time.Hour, verdict: client.VerdictFailed, within: maxWait + time.Second},
	} {
		bubble(t, name, func(t *testing.T) {
			network := new(rdaptest.Network)
			s := rdaptest.Start(t, rdaptest.Config{Network: network, Conn: rdaptest.ConnRules{Refuse: true}})
			back := time.AfterFunc(c.away, func() { s.SetConnRules(rdaptest.ConnRules{}) })
			defer back.Stop()
			a := newNetworkAsker(t, network, s.CA(), client.Config{Resolver: urls{s.URL()}, MaxWait: maxWait, Attempts: 10}) // more than fail before the outage is detected
			start := time.Now()
			for r := range a.Batch(t.Context(), lines(names(2)...)).All() {
				if r.Verdict != c.verdict {
					t.Errorf("%s after %d attempts: %v", describe(r), r.Attempts, client.ErrorOf(r))
				}
				if d := time.Since(start); d > c.within { // the bubble's clock
					t.Errorf("%s after %v, want at most %v", describe(r), d, c.within)
				}
			}
		})
	}
}

func writePage(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/html")
	w.WriteHeader(http.StatusForbidden)
	io.WriteString(w, "<html><title>Forbidden</title><body>Request blocked.</body></html>")
}

// Non-RDAP pages between useful responses lose no line.
func TestBatchWallNowAndThen(t *testing.T) {
	t.Parallel()
	var got atomic.Int64
	ca := newCA(t)
	s := rdaptest.Start(t, rdaptest.Config{CA: ca, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got.Add(1)%50 == 49 {
			writePage(w)
			return
		}
		writeDomain(w, r)
	})})
	a := newAsker(t, ca, client.Config{Resolver: urls{s.URL()}})
	for r := range a.Batch(t.Context(), lines(outageNames(500)...)).All() {
		if r.Verdict != client.VerdictRegistered {
			t.Errorf("%s: %v", describe(r), client.ErrorOf(r))
		}
	}
}

// A limit stated in the body of a 429 is respected and reported.
func TestNoticeOfLimit(t *testing.T) {
	const body = `{"errorCode":429,"title":"Too Many Requests","notices":[{"title":"Rate limit","description":["10 per minute"]}]}`
	s, a := newPair(t, rdaptest.Config{}, client.Config{Attempts: 1})
	s.On("*", rdaptest.Status(429), rdaptest.JSON(body))
	r := a.lookup(t, mustParse(t, "", "alpha.example"))
	if r.Verdict != client.VerdictRateLimited || !strings.Contains(client.ErrorOf(r).Message, "Rate limit: 10 per minute") {
		t.Errorf("%s: %v", describe(r), client.ErrorOf(r))
	}
	if s := a.Servers(); s[0].Rate != (limit.Rate{N: 10, Per: time.Minute}) {
		t.Errorf("%+v", s)
	}
}
