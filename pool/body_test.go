package pool_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/pool"
)

// A farConn pretends that its peer is on another machine, so that the Pool requests gzip.
type farConn struct{ net.Conn }

func (farConn) RemoteAddr() net.Addr {
	return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 443}
}

func dialFar(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return farConn{c}, nil
}

// haltingHandler responds with the path, repeated. Under /halt/ the response stops
// in the middle and does not end.
func haltingHandler(zip bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body := []byte(strings.Repeat(r.URL.Path+"\n", 1000))
		if zip {
			var b bytes.Buffer
			z := gzip.NewWriter(&b)
			z.Write(body)
			z.Close()
			body = b.Bytes()
			w.Header().Set("Content-Encoding", "gzip")
		}
		if !strings.HasPrefix(r.URL.Path, "/halt/") {
			w.Write(body)
			return
		}
		w.Write(body[:len(body)/2])
		_ = http.NewResponseController(w).Flush() // an error means that the connection is closed
		<-r.Context().Done()
	}
}

// Close may be called during a Read, as with net/http, and does not affect other
// bodies.
func TestBodyClosedWhileRead(t *testing.T) {
	for _, protocol := range []string{"http/1.1", "h2"} {
		for _, zip := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, gzip %t", protocol, zip), func(t *testing.T) {
				s := rdaptest.Start(t, rdaptest.Config{Handler: haltingHandler(zip)})
				p := newPool(t, s, pool.Config{Protocols: []string{protocol}, MaxConnsPerHost: 16, Dial: dialFar})
				var wg sync.WaitGroup
				for i := range 8 {
					wg.Go(func() { // run sequentially, so that gunzippers are reused
						for j := range 4 {
							want := i*10 + j
							if a, err := get(t.Context(), p, domain(s, want)); err != nil || a.body != strings.Repeat(fmt.Sprintf("/domain/dom%d.example\n", want), 1000) {
								t.Errorf("%v, %.40q", err, a.body)
							}
						}
					})
					wg.Go(func() {
						req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("%shalt/%d", s.URL(), i), nil)
						if err != nil {
							t.Error(err)
							return
						}
						resp, err := p.RoundTrip(req)
						if err != nil {
							t.Error(err)
							return
						}
						if resp.Uncompressed != zip {
							t.Errorf("uncompressed: %t", resp.Uncompressed)
						}
						ended := make(chan error)
						go func() {
							_, err := io.ReadAll(resp.Body)
							ended <- err
						}()
						resp.Body.Close()
						if err := <-ended; err == nil {
							t.Error("a body that was closed came to its end")
						}
						if _, err := resp.Body.Read(make([]byte, 1)); !errors.Is(err, http.ErrBodyReadAfterClose) {
							t.Errorf("after Close: %v", err)
						}
					})
				}
				wg.Wait()
			})
		}
	}
}

// A body that is closed early is drained, and an error of gzip is returned by later
// Reads too.
func TestBodyNotGzip(t *testing.T) {
	s := rdaptest.Start(t, rdaptest.Config{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		io.WriteString(w, "this is not gzip")
	})})
	p, err := pool.New(pool.Config{TLS: &tls.Config{RootCAs: s.Pool()}, Dial: dialFar})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	resp, err := (&http.Client{Transport: p}).Get(domain(s, 1))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var first error
	for i := range 2 {
		_, err := resp.Body.Read(make([]byte, 10))
		if err == nil || err == io.EOF || i > 0 && !errors.Is(err, first) {
			t.Errorf("read %d: %v", i, err)
		}
		first = err
	}
}
