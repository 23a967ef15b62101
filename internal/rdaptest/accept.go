package rdaptest

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"time"
)

// accept takes connections until the listener closes. Handshakes go on beside
// it, so that they are counted when they are done and only then.
func (s *Server) accept() {
	for {
		tcp, err := s.listener.Accept()
		if err != nil {
			select {
			case <-s.done:
				return
			default:
				time.Sleep(time.Millisecond) // out of descriptors, most likely
				continue
			}
		}
		if s.config.RTT > 0 {
			tcp = delayAccepted(tcp, s.config.RTT)
		}
		c := &conn{server: s, wire: wire{tcp, &s.tally}, gone: make(chan struct{})}
		c.Conn = tls.Server(c.wire, s.tls)

		s.mu.Lock()
		if s.closed {
			s.mu.Unlock()
			tcp.Close()
			return
		}
		c.number, c.tally = s.tally.accept()
		s.conns[c] = struct{}{}
		if s.connRules.First == 0 || s.applied < s.connRules.First {
			c.rules = s.connRules
			s.applied++
		}
		s.work.Go(func() { s.greet(c) })
		s.mu.Unlock()
	}
}

// greet does the handshake and hands the connection to who serves it.
func (s *Server) greet(c *conn) {
	if c.rules.Refuse {
		c.reset()
		return
	}
	if c.rules.SilentTLS {
		io.Copy(io.Discard, c.wire)
		c.kill()
		return
	}
	t := c.Conn.(*tls.Conn)
	c.wire.SetDeadline(time.Now().Add(20 * time.Second))
	if err := t.Handshake(); err != nil {
		s.tally.failed.Add(1)
		c.kill()
		return
	}
	c.wire.SetDeadline(time.Time{})
	state := t.ConnectionState()
	c.state = &state
	if state.DidResume {
		s.tally.resumed.Add(1)
		c.tally.resumed.Store(true)
	} else {
		s.tally.full.Add(1)
	}
	protocol := state.NegotiatedProtocol
	if protocol == "" {
		protocol = "http/1.1"
	}
	c.tally.protocol.Store(&protocol)
	if protocol == "h2" {
		c.frames = new(frameCounter)
		if c.rules.Raw != nil {
			c.rules.Raw.serve(c)
			return
		}
	}
	select {
	case s.ready <- c:
	case <-s.done:
		c.kill()
	}
}

// readyListener gives net/http the connections that are through with TLS.
type readyListener struct{ s *Server }

func (l readyListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.s.ready:
		return c, nil
	case <-l.s.done:
		return nil, net.ErrClosed
	}
}

func (l readyListener) Close() error   { return nil }
func (l readyListener) Addr() net.Addr { return l.s.listener.Addr() }

type connKey struct{}

// connOf returns the connection that carries r.
func connOf(r *http.Request) *conn {
	c, _ := r.Context().Value(connKey{}).(*conn)
	return c
}

// connState is told by net/http when a connection has work and when it has
// none.
func connState(nc net.Conn, state http.ConnState) {
	c, ok := nc.(*conn)
	if !ok {
		return
	}
	switch state {
	case http.StateActive:
		c.setIdle(false)
	case http.StateIdle:
		if c.tally.requests.Load() == 0 {
			return // HTTP/2 says so before the first request, too
		}
		if c.frames == nil {
			c.answer() // HTTP/1.1: the answer is written and flushed
		}
		c.setIdle(true)
	}
}
