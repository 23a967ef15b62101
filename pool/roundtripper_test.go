package pool_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/http/httputil"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rdapq/rdapq/pool"
)

// A wire is how a transport speaks to the server of a check.
type wire string

const (
	plainHTTP1 wire = "HTTP1"
	tlsHTTP1   wire = "HTTP1TLS"
	onHTTP2    wire = "HTTP2"
)

// A contract is a check of the http.RoundTripper contract. run returns what a caller and
// the server see; it must be the same over a Pool and over an http.Transport.
type contract struct {
	name    string
	only    []wire // empty means all; the check does not apply to others
	set     func(r *contractRig, s *transportSettings)
	handler http.HandlerFunc // nil means a greeting
	serve   func(r *contractRig, w http.ResponseWriter, req *http.Request)
	run     func(r *contractRig) string
	want    string // of all wires; empty means that only the transports are compared

	// netHTTP2 is the outcome of an http.Transport over HTTP/2 if it differs from that over
	// HTTP/1.1. The Pool has the same outcome over both.
	netHTTP2 string
}

// transportSettings are those that both transports have.
type transportSettings struct {
	proxy              func(*http.Request) (*url.URL, error)
	headerTimeout      time.Duration
	disableCompression bool
}

// A contractRig is a server and one of the transports.
type contractRig struct {
	t        *testing.T
	rt       http.RoundTripper
	wire     wire
	url      string
	conns    atomic.Int64 // connections that the server accepted
	requests atomic.Int64
	arrived  chan struct{} // a value for each request that reaches serve
	ended    chan struct{} // a value for each request whose context ended in hold
}

func newContractRig(t *testing.T, c *contract, w wire, makeTransport func(transportSettings, *tls.Config, wire) http.RoundTripper) *contractRig {
	t.Helper()
	r := &contractRig{t: t, wire: w, arrived: make(chan struct{}, 100), ended: make(chan struct{}, 100)}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.requests.Add(1)
		switch {
		case c.serve != nil:
			c.serve(r, w, req)
		case c.handler != nil:
			c.handler(w, req)
		default:
			io.WriteString(w, "hello")
		}
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			r.conns.Add(1)
		}
	}
	s.EnableHTTP2 = w == onHTTP2
	var trust *tls.Config
	if w == plainHTTP1 {
		s.Start()
	} else {
		s.StartTLS()
		trust = &tls.Config{RootCAs: s.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}
	}
	t.Cleanup(s.Close)
	r.url = s.URL
	var settings transportSettings
	if c.set != nil {
		c.set(r, &settings)
	}
	r.rt = makeTransport(settings, trust, w)
	t.Cleanup(func() { r.rt.(interface{ CloseIdleConnections() }).CloseIdleConnections() })
	return r
}

// transports makes the two transports that are compared.
func transports(t *testing.T) map[string]func(transportSettings, *tls.Config, wire) http.RoundTripper {
	return map[string]func(transportSettings, *tls.Config, wire) http.RoundTripper{
		"pool": func(s transportSettings, trust *tls.Config, w wire) http.RoundTripper {
			protocol := "http/1.1"
			if w == onHTTP2 {
				protocol = "h2"
			}
			p, err := pool.New(pool.Config{
				TLS: trust, Protocols: []string{protocol}, MaxConnsPerHost: -1, Proxy: s.proxy,
				ResponseHeaderTimeout: s.headerTimeout, DisableCompression: s.disableCompression,
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { p.Close() })
			return p
		},
		"net/http": func(s transportSettings, trust *tls.Config, w wire) http.RoundTripper {
			protocols := new(http.Protocols)
			protocols.SetHTTP1(w != onHTTP2)
			protocols.SetHTTP2(w == onHTTP2)
			return &http.Transport{
				TLSClientConfig: trust, Protocols: protocols, Proxy: s.proxy, ExpectContinueTimeout: time.Second,
				ResponseHeaderTimeout: s.headerTimeout, DisableCompression: s.disableCompression,
			}
		},
	}
}

// A sentBody is a request body. It records how much was read of it and whether it was
// closed.
type sentBody struct {
	io.Reader
	read   atomic.Int64
	once   sync.Once
	closed chan struct{}
}

func newSentBody(r io.Reader) *sentBody { return &sentBody{Reader: r, closed: make(chan struct{})} }

func (b *sentBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	b.read.Add(int64(n))
	return n, err
}

func (b *sentBody) Close() error {
	b.once.Do(func() { close(b.closed) })
	if c, ok := b.Reader.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// end waits until the body is closed, which may be after RoundTrip.
func (b *sentBody) end() string {
	select {
	case <-b.closed:
		return "closed"
	case <-time.After(hang):
		return "NOT CLOSED"
	}
}

// zeros is an endless body.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func (r *contractRig) request(ctx context.Context, method string, body *sentBody, length int64) *http.Request {
	r.t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, r.url, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	if body != nil {
		req.Body, req.ContentLength = body, length
	}
	return req
}

// get sends a GET request to the server and returns its outcome.
func (r *contractRig) get() string {
	r.t.Helper()
	return r.do(r.request(r.t.Context(), http.MethodGet, nil, 0))
}

// do returns the status and body of a response, or the class of the error.
func (r *contractRig) do(req *http.Request) string {
	resp, err := r.rt.RoundTrip(req)
	if err != nil {
		return errorClass(err)
	}
	return readResponse(resp)
}

func readResponse(resp *http.Response) string {
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return fmt.Sprintf("%d %q %s", resp.StatusCode, b, errorClass(err))
}

// errBoom is an error of a test.
var errBoom = errors.New("boom")

func errorClass(err error) string {
	timeout, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err)
	suffix := ""
	if ok && timeout.Timeout() {
		suffix = " timeout"
	}
	switch {
	case err == nil:
		return "ok"
	case errors.Is(err, errBoom):
		return "boom" + suffix
	case errors.Is(err, context.Canceled):
		return "canceled" + suffix
	case errors.Is(err, context.DeadlineExceeded):
		return "deadline" + suffix
	}
	return "error" + suffix
}

// hold tells the test that a request is there, and keeps it until its client gives up. The
// server detects that once it has read the body.
func (r *contractRig) hold(req *http.Request) {
	_, _ = io.Copy(io.Discard, req.Body)
	r.arrived <- struct{}{}
	<-req.Context().Done()
	r.ended <- struct{}{}
}

// flushed writes the beginning of a response.
func flushed(w http.ResponseWriter, text string) {
	io.WriteString(w, text)
	_ = http.NewResponseController(w).Flush()
}

// await waits for a value, as "yes".
func await(c <-chan struct{}) string {
	select {
	case <-c:
		return "yes"
	case <-time.After(hang):
		return "NO"
	}
}

const upload = 50 << 20

func checksum(w http.ResponseWriter, req *http.Request) {
	sum := crc32.NewIEEE()
	n, err := io.Copy(sum, req.Body)
	fmt.Fprintf(w, "%d %08x %d %s", n, sum.Sum32(), req.ContentLength, errorClass(err))
}

// upgradeEcho answers with status 101, then echoes a line.
func upgradeEcho(r *contractRig, w http.ResponseWriter, req *http.Request) {
	if req.Header.Get("Upgrade") != "echo" {
		io.WriteString(w, "hello")
		return
	}
	c, rw, err := w.(http.Hijacker).Hijack()
	if err != nil {
		r.t.Error(err)
		return
	}
	defer c.Close()
	fmt.Fprint(rw, "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n")
	rw.Flush()
	line, _ := rw.ReadString('\n')
	fmt.Fprint(rw, line)
	rw.Flush()
}

// dropSecond closes the connection instead of answering the second request.
func dropSecond(r *contractRig, w http.ResponseWriter, req *http.Request) {
	b, err := io.ReadAll(req.Body)
	if err != nil {
		r.t.Error(err)
	}
	if r.requests.Load() != 2 {
		w.Write(b)
		return
	}
	c, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		r.t.Error(err)
		return
	}
	c.Close()
}

// proxyThrough makes requests go through a proxy that wants a password.
func proxyThrough(status int) func(*contractRig, *transportSettings) {
	return func(r *contractRig, s *transportSettings) {
		direct := &http.Transport{}
		proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			want := "Basic " + base64.StdEncoding.EncodeToString([]byte("user:secret"))
			switch {
			case req.Header.Get("Proxy-Authorization") != want:
				w.WriteHeader(http.StatusBadRequest)
			case status != http.StatusOK:
				w.WriteHeader(status)
			case req.Method == http.MethodConnect:
				tunnel(w, req)
			default:
				r.arrived <- struct{}{}
				(&httputil.ReverseProxy{Rewrite: func(*httputil.ProxyRequest) {}, Transport: direct}).ServeHTTP(w, req)
			}
		}))
		r.t.Cleanup(func() { proxy.Close(); direct.CloseIdleConnections() })
		u, err := url.Parse(proxy.URL)
		if err != nil {
			r.t.Fatal(err)
		}
		u.User = url.UserPassword("user", "secret")
		s.proxy = http.ProxyURL(u)
	}
}

// tunnel serves a CONNECT request.
func tunnel(w http.ResponseWriter, req *http.Request) {
	far, err := net.Dial("tcp", req.Host)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	w.WriteHeader(http.StatusOK)
	near, rw, err := w.(http.Hijacker).Hijack()
	if err != nil {
		far.Close()
		return
	}
	go func() {
		defer far.Close()
		_, _ = io.Copy(far, rw)
	}()
	defer near.Close()
	_, _ = io.Copy(near, far)
}

var onlyHTTP1 = []wire{plainHTTP1, tlsHTTP1}

// contracts are numbered from 1 in the names of the subtests.
var contracts = []contract{
	{
		name: "GET",
		run: func(r *contractRig) string {
			req := r.request(r.t.Context(), http.MethodGet, nil, 0)
			resp, err := r.rt.RoundTrip(req)
			if err != nil {
				return errorClass(err)
			}
			return fmt.Sprintf("%s %s %d, of this request: %t, TLS: %t", readResponse(resp), resp.Proto, resp.ContentLength, resp.Request == req, resp.TLS != nil)
		},
	},
	{
		name: "empty method is GET",
		serve: func(_ *contractRig, w http.ResponseWriter, req *http.Request) {
			io.WriteString(w, req.Method)
		},
		run: func(r *contractRig) string {
			req := r.request(r.t.Context(), http.MethodGet, nil, 0)
			req.Method = ""
			return r.do(req)
		},
		want: `200 "GET" ok`,
	},
	{
		name: "HEAD",
		handler: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "5")
		},
		run: func(r *contractRig) string {
			resp, err := r.rt.RoundTrip(r.request(r.t.Context(), http.MethodHead, nil, 0))
			if err != nil {
				return errorClass(err)
			}
			return fmt.Sprintf("%s %d, then %s on %d connection", readResponse(resp), resp.ContentLength, r.get()[:3], r.conns.Load())
		},
	},
	{
		name:    "204",
		handler: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) },
		run:     func(r *contractRig) string { return emptyTwice(r) },
		want:    `204 "" ok length 0, twice on 1 connection`,
	},
	{
		name: "304",
		handler: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Etag", `"a"`)
			w.WriteHeader(http.StatusNotModified)
		},
		run: func(r *contractRig) string { return emptyTwice(r) },
	},
	{
		name: "1xx",
		handler: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Link", "</a>; rel=preload")
			w.WriteHeader(http.StatusEarlyHints)
			w.WriteHeader(http.StatusProcessing)
			io.WriteString(w, "hello")
		},
		run: func(r *contractRig) string {
			var codes []int
			ctx := httptrace.WithClientTrace(r.t.Context(), &httptrace.ClientTrace{Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
				codes = append(codes, code, len(h["Link"]))
				return nil
			}})
			return fmt.Sprint(r.do(r.request(ctx, http.MethodGet, nil, 0)), codes)
		},
		want: `200 "hello" ok[103 1 102 1]`,
	},
	{
		name: "1xx refused by a hook",
		handler: func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusEarlyHints)
			io.WriteString(w, "hello")
		},
		run: func(r *contractRig) string {
			ctx := httptrace.WithClientTrace(r.t.Context(), &httptrace.ClientTrace{Got1xxResponse: func(int, textproto.MIMEHeader) error { return errBoom }})
			body := newSentBody(strings.NewReader("hello"))
			outcome := r.do(r.request(ctx, http.MethodPost, body, 5))
			if outcome == "boom" { // or the error of writing to the connection, which is closed
				outcome = "error"
			}
			return outcome + ", body " + body.end()
		},
		want: "error, body closed",
	},
	{
		name:    "Expect, continued",
		handler: checksum,
		run: func(r *contractRig) string {
			continued := 0
			ctx := httptrace.WithClientTrace(r.t.Context(), &httptrace.ClientTrace{Got100Continue: func() { continued++ }})
			body := newSentBody(strings.NewReader("hello"))
			req := r.request(ctx, http.MethodPost, body, 5)
			req.Header.Set("Expect", "100-continue")
			return fmt.Sprint(r.do(req), ", continued ", continued, ", body ", body.end())
		},
		want: `200 "5 3610a686 5 ok" ok, continued 1, body closed`,
	},
	{
		name:    "Expect, refused",
		handler: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusRequestEntityTooLarge) },
		run: func(r *contractRig) string {
			body := newSentBody(strings.NewReader("hello"))
			req := r.request(r.t.Context(), http.MethodPost, body, 5)
			req.Header.Set("Expect", "100-continue")
			return fmt.Sprint(r.do(req), ", body ", body.end(), ", read ", body.read.Load())
		},
		want: `413 "" ok, body closed, read 0`,
	},
	{
		name: "request trailer",
		handler: func(w http.ResponseWriter, req *http.Request) {
			_, _ = io.Copy(io.Discard, req.Body)
			io.WriteString(w, req.Trailer.Get("Digest"))
		},
		run: func(r *contractRig) string {
			trailer := http.Header{"Digest": nil}
			body := newSentBody(io.MultiReader(strings.NewReader("hello"), readerFunc(func([]byte) (int, error) {
				trailer.Set("Digest", "sum")
				return 0, io.EOF
			})))
			req := r.request(r.t.Context(), http.MethodPost, body, -1)
			req.Trailer = trailer
			return r.do(req) + ", body " + body.end()
		},
		want: `200 "sum" ok, body closed`,
	},
	{
		name: "response trailer",
		handler: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Trailer", "Digest")
			flushed(w, "hello")
			w.Header().Set("Digest", "sum")
		},
		run: func(r *contractRig) string {
			resp, err := r.rt.RoundTrip(r.request(r.t.Context(), http.MethodGet, nil, 0))
			if err != nil {
				return errorClass(err)
			}
			_, announced := resp.Trailer["Digest"]
			return fmt.Sprint(readResponse(resp), " announced ", announced, ", value ", resp.Trailer.Get("Digest"))
		},
		want: `200 "hello" ok announced true, value sum`,
	},
	{
		name: "response trailer, not announced",
		handler: func(w http.ResponseWriter, _ *http.Request) {
			flushed(w, "hello")
			w.Header().Set(http.TrailerPrefix+"Digest", "sum")
		},
		run: func(r *contractRig) string {
			resp, err := r.rt.RoundTrip(r.request(r.t.Context(), http.MethodGet, nil, 0))
			if err != nil {
				return errorClass(err)
			}
			before := len(resp.Trailer)
			return fmt.Sprint(before, " at first, then ", readResponse(resp), ", value ", resp.Trailer.Get("Digest"))
		},
		want: `0 at first, then 200 "hello" ok, value sum`,
	},
	{
		name:    "upload of 50 MB",
		handler: checksum,
		run: func(r *contractRig) string {
			body := newSentBody(io.LimitReader(zeros{}, upload))
			return r.do(r.request(r.t.Context(), http.MethodPut, body, upload)) + ", body " + body.end()
		},
		want: `200 "52428800 0e9b9b34 52428800 ok" ok, body closed`,
	},
	{
		name:    "upload of unknown length",
		handler: checksum,
		run: func(r *contractRig) string {
			body := newSentBody(io.LimitReader(zeros{}, 1<<20))
			return r.do(r.request(r.t.Context(), http.MethodPut, body, -1)) + ", body " + body.end()
		},
		want: `200 "1048576 a738ea1c -1 ok" ok, body closed`,
	},
	{
		name:    "early 413",
		handler: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusRequestEntityTooLarge) },
		run: func(r *contractRig) string {
			body := newSentBody(io.LimitReader(zeros{}, upload))
			return fmt.Sprint(r.do(r.request(r.t.Context(), http.MethodPut, body, upload)), ", body ", body.end(), ", all read: ", body.read.Load() == upload)
		},
		want: `413 "" ok, body closed, all read: false`,
	},
	{
		name: "body that fails",
		handler: func(_ http.ResponseWriter, req *http.Request) {
			_, _ = io.Copy(io.Discard, req.Body)
		},
		run: func(r *contractRig) string {
			body := newSentBody(io.MultiReader(strings.NewReader("hello"), readerFunc(func([]byte) (int, error) { return 0, errBoom })))
			return r.do(r.request(r.t.Context(), http.MethodPut, body, 10)) + ", body " + body.end()
		},
		want: "boom, body closed",
	},
	{
		name: "body shorter than its length",
		handler: func(_ http.ResponseWriter, req *http.Request) {
			_, _ = io.Copy(io.Discard, req.Body)
		},
		run: func(r *contractRig) string {
			body := newSentBody(strings.NewReader("hello"))
			outcome := r.do(r.request(r.t.Context(), http.MethodPut, body, 10))
			if r.wire == onHTTP2 {
				outcome = "error" // or the response, if the server sends it before it detects the error
			}
			return outcome + ", body " + body.end()
		},
		want: "error, body closed",
	},
	{
		name: "body longer than its length",
		handler: func(_ http.ResponseWriter, req *http.Request) {
			_, _ = io.Copy(io.Discard, req.Body)
		},
		run: func(r *contractRig) string {
			body := newSentBody(strings.NewReader("hello, hello"))
			r.do(r.request(r.t.Context(), http.MethodPut, body, 5)) // the server may answer first
			return "body " + body.end() + ", then " + r.get()
		},
		want: `body closed, then 200 "" ok`,
	},
	{
		name: "length without a body",
		run: func(r *contractRig) string {
			req := r.request(r.t.Context(), http.MethodPut, nil, 0)
			req.ContentLength = 5
			return r.do(req)
		},
	},
	{
		name: "canceled before",
		run: func(r *contractRig) string {
			ctx, cancel := context.WithCancel(r.t.Context())
			cancel()
			body := newSentBody(strings.NewReader("hello"))
			return fmt.Sprint(r.do(r.request(ctx, http.MethodPut, body, 5)), ", body ", body.end(), ", ", r.conns.Load(), " connections")
		},
		want: "canceled, body closed, 0 connections",
	},
	{
		name:  "canceled while waiting for the header",
		serve: func(r *contractRig, _ http.ResponseWriter, req *http.Request) { r.hold(req) },
		run: func(r *contractRig) string {
			ctx, cancel := context.WithCancel(r.t.Context())
			defer cancel()
			go func() {
				<-r.arrived
				cancel()
			}()
			return r.do(r.request(ctx, http.MethodGet, nil, 0)) + ", seen by the server: " + await(r.ended)
		},
		want: "canceled, seen by the server: yes",
	},
	{
		name: "canceled while sending the body",
		serve: func(r *contractRig, _ http.ResponseWriter, req *http.Request) {
			_, _ = io.ReadFull(req.Body, make([]byte, 5))
			r.arrived <- struct{}{}
			_, _ = io.Copy(io.Discard, req.Body) // until the client gives up
			r.ended <- struct{}{}
		},
		run: func(r *contractRig) string {
			ctx, cancel := context.WithCancel(r.t.Context())
			defer cancel()
			in, out := io.Pipe()
			seen := make(chan string)
			go func() {
				io.WriteString(out, "hello")
				<-r.arrived
				cancel()
				yes := await(r.ended)
				out.CloseWithError(errBoom) // until then net/http waits over HTTP/1.1
				seen <- yes
			}()
			return r.do(r.request(ctx, http.MethodPut, newSentBody(in), 10)) + ", seen by the server: " + <-seen
		},
		want: "canceled, seen by the server: yes",
	},
	{
		name:  "canceled with a cause",
		serve: func(r *contractRig, _ http.ResponseWriter, req *http.Request) { r.hold(req) },
		run: func(r *contractRig) string {
			ctx, cancel := context.WithCancelCause(r.t.Context())
			go func() {
				<-r.arrived
				cancel(errBoom)
			}()
			body := newSentBody(strings.NewReader("hello"))
			return r.do(r.request(ctx, http.MethodPut, body, 5)) + ", body " + body.end()
		},
		want:     "boom, body closed",
		netHTTP2: "canceled, body closed", // the cause is lost
	},
	{
		name: "canceled while reading the body",
		serve: func(r *contractRig, w http.ResponseWriter, req *http.Request) {
			flushed(w, "hello")
			r.hold(req)
			panic(http.ErrAbortHandler) // the end of the body could arrive before the client has closed
		},
		run: func(r *contractRig) string {
			ctx, cancel := context.WithCancel(r.t.Context())
			defer cancel()
			resp, err := r.rt.RoundTrip(r.request(ctx, http.MethodGet, nil, 0))
			if err != nil {
				return errorClass(err)
			}
			_, err = io.ReadFull(resp.Body, make([]byte, 5))
			cancel()
			return errorClass(err) + ", " + readResponse(resp) + ", seen by the server: " + await(r.ended)
		},
		want: `ok, 200 "" canceled, seen by the server: yes`,
	},
	{
		name:  "deadline while waiting for the header",
		serve: func(r *contractRig, _ http.ResponseWriter, req *http.Request) { r.hold(req) },
		run: func(r *contractRig) string {
			ctx, cancel := context.WithTimeout(r.t.Context(), 200*time.Millisecond)
			defer cancel()
			body := newSentBody(strings.NewReader("hello"))
			return r.do(r.request(ctx, http.MethodPut, body, 5)) + ", body " + body.end()
		},
		want: "deadline timeout, body closed",
	},
	{
		name: "deadline while reading the body",
		serve: func(r *contractRig, w http.ResponseWriter, req *http.Request) {
			flushed(w, "hello")
			r.hold(req)
			panic(http.ErrAbortHandler) // the end of the body could arrive before the client has closed
		},
		run: func(r *contractRig) string {
			ctx, cancel := context.WithDeadlineCause(r.t.Context(), time.Now().Add(200*time.Millisecond), nil)
			defer cancel()
			outcome := r.do(r.request(ctx, http.MethodGet, nil, 0))
			if outcome == "deadline timeout" { // a slow machine: the header was late
				outcome = `200 "hello" deadline timeout`
			}
			return outcome
		},
		want: `200 "hello" deadline timeout`,
	},
	{
		name:  "ResponseHeaderTimeout",
		set:   func(_ *contractRig, s *transportSettings) { s.headerTimeout = 50 * time.Millisecond },
		serve: func(r *contractRig, _ http.ResponseWriter, req *http.Request) { r.hold(req) },
		run: func(r *contractRig) string {
			return fmt.Sprint(r.get(), ", seen by the server: ", await(r.ended), ", ", r.requests.Load(), " request")
		},
		want:     "deadline timeout, seen by the server: yes, 1 request",
		netHTTP2: "error timeout, seen by the server: yes, 1 request", // not a context.DeadlineExceeded
	},
	{
		name: "connection refused",
		run: func(r *contractRig) string {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				r.t.Fatal(err)
			}
			l.Close()
			body := newSentBody(strings.NewReader("hello"))
			req := r.request(r.t.Context(), http.MethodPut, body, 5)
			req.URL.Host = l.Addr().String()
			return r.do(req) + ", body " + body.end()
		},
		want: "error, body closed",
	},
	{
		name:    "hang-up instead of a response",
		handler: func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		run: func(r *contractRig) string {
			body := newSentBody(strings.NewReader("hello"))
			return fmt.Sprint(r.do(r.request(r.t.Context(), http.MethodPost, body, 5)), ", body ", body.end(), ", ", r.requests.Load(), " request")
		},
		want: "error, body closed, 1 request",
	},
	{
		name: "hang-up in the body",
		handler: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "10")
			flushed(w, "hello")
			panic(http.ErrAbortHandler)
		},
		run:  func(r *contractRig) string { return r.get() },
		want: `200 "hello" error`,
	},
	{
		name: "Connection: close in the response",
		handler: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Connection", "close")
			io.WriteString(w, "hello")
		},
		run: func(r *contractRig) string {
			return fmt.Sprint(r.get(), ", ", r.get(), ", ", r.conns.Load(), " connections")
		},
		want: `200 "hello" ok, 200 "hello" ok, 2 connections`,
	},
	{
		name:    "Request.Close",
		handler: closeSeen,
		run: func(r *contractRig) string {
			return twice(r, func(req *http.Request) { req.Close = true })
		},
	},
	{
		name:    "Connection: close in the request",
		handler: closeSeen,
		run: func(r *contractRig) string {
			return twice(r, func(req *http.Request) { req.Header.Set("Connection", "close") })
		},
	},
	{
		name:  "GetBody after a connection that was closed",
		only:  onlyHTTP1,
		serve: dropSecond,
		run: func(r *contractRig) string {
			return sendAgain(r, func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("hello")), nil })
		},
		want: `200 "" ok, then 200 "hello" ok, body closed, 3 requests`,
	},
	{
		name:  "GetBody that fails",
		only:  onlyHTTP1,
		serve: dropSecond,
		run: func(r *contractRig) string {
			return sendAgain(r, func() (io.ReadCloser, error) { return nil, errBoom })
		},
		want: `200 "" ok, then boom, body closed, 2 requests`,
	},
	{
		name: "redirect with a body",
		handler: func(w http.ResponseWriter, req *http.Request) {
			if req.URL.Path != "/to" {
				http.Redirect(w, req, "/to", http.StatusTemporaryRedirect)
				return
			}
			_, _ = io.Copy(w, req.Body)
		},
		run: func(r *contractRig) string {
			resp, err := (&http.Client{Transport: r.rt}).Post(r.url, "text/plain", strings.NewReader("hello"))
			if err != nil {
				return errorClass(err)
			}
			return readResponse(resp)
		},
		want: `200 "hello" ok`,
	},
	{
		name: "proxy",
		set:  proxyThrough(http.StatusOK),
		run: func(r *contractRig) string {
			outcome := r.get()
			return fmt.Sprint(outcome, ", in clear through the proxy: ", len(r.arrived) > 0)
		},
	},
	{
		name: "proxy that refuses",
		set:  proxyThrough(http.StatusForbidden),
		run: func(r *contractRig) string {
			body := newSentBody(strings.NewReader("hello"))
			return fmt.Sprint(r.do(r.request(r.t.Context(), http.MethodPost, body, 5)), ", body ", body.end(), ", ", r.requests.Load(), " requests")
		},
	},
	{
		name: "proxy function that fails",
		set: func(_ *contractRig, s *transportSettings) {
			s.proxy = func(*http.Request) (*url.URL, error) { return nil, errBoom }
		},
		run: func(r *contractRig) string {
			body := newSentBody(strings.NewReader("hello"))
			return fmt.Sprint(r.do(r.request(r.t.Context(), http.MethodPost, body, 5)), ", body ", body.end(), ", ", r.conns.Load(), " connections")
		},
		want: "boom, body closed, 0 connections",
	},
	{
		name: "CloseIdleConnections",
		run: func(r *contractRig) string {
			before := r.get()
			(&http.Client{Transport: r.rt}).CloseIdleConnections()
			return fmt.Sprint(before, ", ", r.get(), ", ", r.conns.Load(), " connections")
		},
		want: `200 "hello" ok, 200 "hello" ok, 2 connections`,
	},
	{
		name: "CloseIdleConnections during a response",
		serve: func(r *contractRig, w http.ResponseWriter, req *http.Request) {
			flushed(w, "hel")
			<-r.arrived
			io.WriteString(w, "lo")
		},
		run: func(r *contractRig) string {
			resp, err := r.rt.RoundTrip(r.request(r.t.Context(), http.MethodGet, nil, 0))
			if err != nil {
				return errorClass(err)
			}
			(&http.Client{Transport: r.rt}).CloseIdleConnections()
			r.arrived <- struct{}{}
			return readResponse(resp)
		},
		want: `200 "hello" ok`,
	},
	{
		name: "invalid requests",
		run: func(r *contractRig) string {
			var outcomes []string
			for _, name := range slices.Sorted(maps.Keys(invalidRequests)) {
				body := newSentBody(strings.NewReader("hello"))
				req := r.request(r.t.Context(), http.MethodPost, body, 5)
				invalidRequests[name](req)
				outcomes = append(outcomes, name+": "+r.do(req)+" "+body.end())
			}
			return fmt.Sprintf("%s; %d connections", strings.Join(outcomes, ", "), r.conns.Load())
		},
		want: "empty host: error closed, field name: error closed, field value: error closed, method: error closed, no URL: error closed, no header: error closed, scheme: error closed, trailer name: error closed, trailer value: error closed; 0 connections",
	},
	{
		name:  "101",
		only:  onlyHTTP1,
		serve: upgradeEcho,
		run: func(r *contractRig) string {
			req := r.request(r.t.Context(), http.MethodGet, nil, 0)
			req.Header.Set("Connection", "upgrade")
			req.Header.Set("Upgrade", "echo")
			resp, err := r.rt.RoundTrip(req)
			if err != nil {
				return errorClass(err)
			}
			rwc, ok := resp.Body.(io.ReadWriteCloser)
			if !ok {
				return fmt.Sprintf("body without Write: %T", resp.Body)
			}
			fmt.Fprintln(rwc, "ping")
			line, err := bufio.NewReader(rwc).ReadString('\n')
			rwc.Close()
			return fmt.Sprintf("%d %q %s, then %s on %d connections", resp.StatusCode, line, errorClass(err), r.get(), r.conns.Load())
		},
		want: `101 "ping\n" ok, then 200 "hello" ok on 2 connections`,
	},
	{
		name:  "101 through a ReverseProxy",
		only:  onlyHTTP1,
		serve: upgradeEcho,
		run: func(r *contractRig) string {
			to, err := url.Parse(r.url)
			if err != nil {
				r.t.Fatal(err)
			}
			front := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(to) }, Transport: r.rt})
			defer front.Close()
			c, err := net.Dial("tcp", front.Listener.Addr().String())
			if err != nil {
				r.t.Fatal(err)
			}
			defer c.Close()
			fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: rdap.example\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n")
			in := bufio.NewReader(c)
			resp, err := http.ReadResponse(in, nil)
			if err != nil {
				return errorClass(err)
			}
			fmt.Fprintln(c, "ping")
			line, err := in.ReadString('\n')
			return fmt.Sprintf("%d %s %q %s", resp.StatusCode, resp.Header.Get("Upgrade"), line, errorClass(err))
		},
		want: `101 echo "ping\n" ok`,
	},
	{
		name: "gzip that the caller requests",
		handler: func(w http.ResponseWriter, req *http.Request) {
			w.Header().Set("Content-Encoding", req.Header.Get("Accept-Encoding"))
			z := gzip.NewWriter(w)
			io.WriteString(z, "hello")
			z.Close()
		},
		run: func(r *contractRig) string {
			req := r.request(r.t.Context(), http.MethodGet, nil, 0)
			req.Header.Set("Accept-Encoding", "gzip")
			resp, err := r.rt.RoundTrip(req)
			if err != nil {
				return errorClass(err)
			}
			defer resp.Body.Close()
			b, err := io.ReadAll(resp.Body)
			z, errGzip := gzip.NewReader(bytes.NewReader(b))
			if err := errors.Join(err, errGzip); err != nil {
				return errorClass(err)
			}
			b, err = io.ReadAll(z)
			return fmt.Sprintf("%q %s %s %t", b, errorClass(err), resp.Header.Get("Content-Encoding"), resp.Uncompressed)
		},
		want: `"hello" ok gzip false`,
	},
	{
		name: "DisableCompression",
		set:  func(_ *contractRig, s *transportSettings) { s.disableCompression = true },
		handler: func(w http.ResponseWriter, req *http.Request) {
			io.WriteString(w, req.Header.Get("Accept-Encoding"))
		},
		run:  func(r *contractRig) string { return r.get() },
		want: `200 "" ok`,
	},
	{
		name: "request is not modified",
		run: func(r *contractRig) string {
			req := r.request(r.t.Context(), http.MethodGet, nil, 0)
			req.Header.Set("X-A", "b")
			before := fmt.Sprint(*req.URL, req.Header, req.Host, req.Close, req.Method)
			outcome := r.do(req)
			return fmt.Sprint(outcome, ", unchanged: ", before == fmt.Sprint(*req.URL, req.Header, req.Host, req.Close, req.Method))
		},
		want: `200 "hello" ok, unchanged: true`,
	},
	{
		name: "fields",
		handler: func(w http.ResponseWriter, req *http.Request) {
			w.Header()["Set-Cookie"] = []string{"a=1", "b=2"}
			fmt.Fprint(w, req.Host, req.Header["X-A"], req.UserAgent(), req.RequestURI)
		},
		run: func(r *contractRig) string {
			req := r.request(r.t.Context(), http.MethodGet, nil, 0)
			req.Header["X-A"] = []string{"1", "2"}
			req.Host = "other.example"
			req.URL.Path, req.URL.RawQuery, req.URL.Fragment = "/a b", "q=%20", "f"
			resp, err := r.rt.RoundTrip(req)
			if err != nil {
				return errorClass(err)
			}
			return fmt.Sprint(readResponse(resp), resp.Header["Set-Cookie"])
		},
	},
	{
		name: "no limit of connections",
		serve: func(r *contractRig, _ http.ResponseWriter, _ *http.Request) {
			r.arrived <- struct{}{}
			for len(r.arrived) < 20 {
				time.Sleep(time.Millisecond) // until all are there
			}
		},
		run: func(r *contractRig) string {
			var all sync.WaitGroup
			var failed atomic.Int64
			for range 20 {
				all.Go(func() {
					if r.get() != `200 "" ok` {
						failed.Add(1)
					}
				})
			}
			all.Wait()
			return fmt.Sprint(failed.Load(), " failed")
		},
		want: "0 failed",
	},
}

// invalidRequests spoil a request. It must not be sent, and no connection made for it.
var invalidRequests = map[string]func(*http.Request){
	"no URL":        func(r *http.Request) { r.URL = nil },
	"no header":     func(r *http.Request) { r.Header = nil },
	"scheme":        func(r *http.Request) { r.URL.Scheme = "gopher" },
	"empty host":    func(r *http.Request) { r.URL.Host = "" },
	"method":        func(r *http.Request) { r.Method = "G ET" },
	"field name":    func(r *http.Request) { r.Header["a b"] = []string{"c"} },
	"field value":   func(r *http.Request) { r.Header["A"] = []string{"b\nc"} },
	"trailer name":  func(r *http.Request) { r.Trailer = http.Header{"a b": {"c"}} },
	"trailer value": func(r *http.Request) { r.Trailer = http.Header{"A": {"b\x00"}} },
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func closeSeen(w http.ResponseWriter, req *http.Request) {
	fmt.Fprint(w, req.Close, req.Header["Connection"])
}

// emptyTwice sends two requests whose responses have no body.
func emptyTwice(r *contractRig) string {
	var outcomes []string
	for range 2 {
		resp, err := r.rt.RoundTrip(r.request(r.t.Context(), http.MethodGet, nil, 0))
		if err != nil {
			return errorClass(err)
		}
		outcomes = append(outcomes, fmt.Sprint(readResponse(resp), " length ", resp.ContentLength))
	}
	if outcomes[0] != outcomes[1] {
		return strings.Join(outcomes, ", then ")
	}
	return fmt.Sprintf("%s, twice on %d connection", outcomes[0], r.conns.Load())
}

// twice sends two requests that end their connection, and one that does not.
func twice(r *contractRig, change func(*http.Request)) string {
	var outcomes []string
	for range 2 {
		req := r.request(r.t.Context(), http.MethodGet, nil, 0)
		change(req)
		outcomes = append(outcomes, r.do(req))
	}
	return fmt.Sprint(outcomes, r.get(), r.conns.Load(), " connections")
}

// sendAgain sends a request with a body on a connection that ends before the response.
func sendAgain(r *contractRig, getBody func() (io.ReadCloser, error)) string {
	before := r.get()
	body := newSentBody(strings.NewReader("hello"))
	req := r.request(r.t.Context(), http.MethodPut, body, 5)
	req.Header.Set("Idempotency-Key", "1")
	req.GetBody = getBody
	return fmt.Sprint(before, ", then ", r.do(req), ", body ", body.end(), ", ", r.requests.Load(), " requests")
}

// TestRoundTripper compares a Pool with an http.Transport as http.RoundTripper.
func TestRoundTripper(t *testing.T) {
	for i, c := range contracts {
		t.Run(fmt.Sprintf("%02d %s", i+1, c.name), func(t *testing.T) {
			for _, w := range []wire{plainHTTP1, tlsHTTP1, onHTTP2} {
				if len(c.only) > 0 && !slices.Contains(c.only, w) {
					t.Logf("%s: n/a", w)
					continue
				}
				t.Run(string(w), func(t *testing.T) {
					got := make(map[string]string)
					for name, makeTransport := range transports(t) {
						r := newContractRig(t, &c, w, makeTransport)
						within(t, name, hang, func() { got[name] = c.run(r) })
					}
					same := got["pool"]
					if w == onHTTP2 && c.netHTTP2 != "" {
						same = c.netHTTP2
					}
					if got["net/http"] != same || c.want != "" && got["pool"] != c.want {
						t.Errorf("pool:     %s\nnet/http: %s\nwant:     %s", got["pool"], got["net/http"], c.want)
					} else {
						t.Log(got["pool"])
					}
				})
			}
		})
	}
}
