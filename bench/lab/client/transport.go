package main

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"golang.org/x/sys/unix"
)

// newTransport returns the transport for the options, and a function that closes its
// connections.
func newTransport(o options, conf *tls.Config) (rt http.RoundTripper, closeAll func()) {
	switch {
	case o.http == "3":
		t := &http3.Transport{
			TLSClientConfig:    conf.Clone(),
			QUICConfig:         &quic.Config{MaxIdleTimeout: time.Minute},
			DisableCompression: true,
			Dial:               quic.DialAddrEarly,
		}
		return t, func() { t.Close() }
	case o.noReuse:
		// With HTTP/2, DisableKeepAlives would waste dials.
		o.http = "1.1"
	case o.http == "2" && o.conns > 1:
		return newShards(o, conf)
	}
	t := &http.Transport{
		TLSClientConfig:     conf.Clone(),
		DialContext:         dialer(o),
		DisableKeepAlives:   o.noReuse,
		DisableCompression:  true, // the lookups request compression themselves
		MaxIdleConnsPerHost: o.c,
		Protocols:           new(http.Protocols),
		HTTP2:               &http.HTTP2Config{MaxEncoderHeaderTableSize: 1},
	}
	t.Protocols.SetHTTP1(o.http == "1.1")
	t.Protocols.SetHTTP2(o.http == "2")
	if o.http == "2" {
		t.MaxConnsPerHost = 1
	}
	return t, t.CloseIdleConnections
}

func dialer(o options) func(ctx context.Context, network, addr string) (net.Conn, error) {
	d := &net.Dialer{Timeout: 30 * time.Second}
	if o.fastOpen {
		d.Control = func(_, _ string, c syscall.RawConn) error {
			var err error
			control := c.Control(func(fd uintptr) {
				err = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_FASTOPEN_CONNECT, 1)
			})
			if control != nil {
				return control
			}
			return err
		}
	}
	return d.DialContext
}

// shardStreams limits concurrent requests per connection, so that a lack of streams causes no
// dial.
const shardStreams = 100

// A shards spreads requests over transports with one connection each, and uses the least busy
// first.
type shards struct {
	mu   sync.Mutex
	list []*shard
}

type shard struct {
	rt    http.RoundTripper
	slots chan struct{}
	load  int // guarded by shards.mu
}

func newShards(o options, conf *tls.Config) (rt http.RoundTripper, closeAll func()) {
	s := &shards{}
	var closers []func()
	one := o
	one.conns = 1
	for range o.conns {
		rt, closeOne := newTransport(one, conf)
		s.list = append(s.list, &shard{rt: rt, slots: make(chan struct{}, shardStreams)})
		closers = append(closers, closeOne)
	}
	return s, func() {
		for _, c := range closers {
			c()
		}
	}
}

func (s *shards) RoundTrip(req *http.Request) (*http.Response, error) {
	s.mu.Lock()
	best := s.list[0]
	for _, one := range s.list {
		if one.load < best.load {
			best = one
		}
	}
	best.load++
	s.mu.Unlock()
	best.slots <- struct{}{}
	release := sync.OnceFunc(func() {
		<-best.slots
		s.mu.Lock()
		best.load--
		s.mu.Unlock()
	})
	resp, err := best.rt.RoundTrip(req)
	if err != nil {
		release()
		return nil, err
	}
	resp.Body = &releasing{resp.Body, release}
	return resp, nil
}

// A releasing body releases its slot when it is closed.
type releasing struct {
	io.ReadCloser
	release func()
}

func (r *releasing) Close() error {
	defer r.release()
	return r.ReadCloser.Close()
}
