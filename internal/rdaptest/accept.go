package rdaptest

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"time"
)

// accept accepts connections until the listener closes. Handshakes run concurrently and
// are counted when they finish.
func (s *Server) accept() {
	for {
		tcp, err := s.listener.Accept()
		if err != nil {
			select {
			case <-s.done:
				return
			default:
				time.Sleep(time.Millisecond) // the process is most likely out of file descriptors
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

// greet performs the handshake and passes the connection to its server.
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

// readyListener passes connections to net/http after their TLS handshake.
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

// connState handles the change of a connection to active or idle. net/http calls it.
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
			return // HTTP/2 also reports this state before the first request
		}
		if c.frames == nil {
			c.answer() // over HTTP/1.1, the response was written and flushed
		}
		c.setIdle(true)
	}
}
