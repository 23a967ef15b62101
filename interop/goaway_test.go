//go:build unix

package interop_test

import (
	"bytes"
	"cmp"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"strconv"
	"syscall"
	"testing"
	"time"

	frames "golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/rdapq/rdapq/pool"
)

// A witness is an additional HTTP/2 connection that shows the frames it receives.
type witness struct {
	nc     net.Conn
	framer *frames.Framer
	host   string
	stream uint32 // number of the last stream, which is odd
}

// witness connects and queries a name.
func (s *instance) witness(t *testing.T) *witness {
	t.Helper()
	nc, err := tls.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(s.Port)), &tls.Config{
		RootCAs: s.ca.Pool(), ServerName: "localhost", NextProtos: []string{"h2"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	if err := nc.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	w := &witness{nc: nc, framer: frames.NewFramer(nc, nc), host: "localhost:" + strconv.Itoa(s.Port), stream: 1}
	_, err = io.WriteString(nc, frames.ClientPreface)
	if err == nil {
		err = w.framer.WriteSettings()
	}
	if err == nil {
		err = w.ask()
	}
	if err == nil {
		err = w.until(w.answered)
	}
	if err != nil {
		t.Fatal("no response to the witness: ", err)
	}
	return w
}

// ask queries a name.
func (w *witness) ask() error {
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	encoder.SetMaxDynamicTableSize(0) // use no dynamic table
	for _, f := range [][2]string{{":method", "GET"}, {":scheme", "https"}, {":authority", w.host}, {":path", "/domain/witness.example"}} {
		if err := encoder.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]}); err != nil {
			return err
		}
	}
	w.stream += 2
	return w.framer.WriteHeaders(frames.HeadersFrameParam{StreamID: w.stream, BlockFragment: block.Bytes(), EndStream: true, EndHeaders: true})
}

// answered reports whether a frame ends the response.
func (w *witness) answered(f frames.Frame) bool {
	h := f.Header()
	return h.StreamID == w.stream && (h.Type == frames.FrameData || h.Type == frames.FrameHeaders) && h.Flags.Has(frames.FlagDataEndStream)
}

// untilGoAway repeats requests until the server sends GOAWAY, because some servers send GOAWAY
// only with a response.
func (w *witness) untilGoAway() error {
	if err := w.ask(); err != nil {
		return err
	}
	var failed error
	err := w.until(func(f frames.Frame) bool {
		if f.Header().Type == frames.FrameGoAway {
			return true
		}
		if w.answered(f) {
			failed = w.ask()
		}
		return failed != nil
	})
	return cmp.Or(failed, err)
}

// until reads frames up to and including the first for which found returns true.
func (w *witness) until(found func(f frames.Frame) bool) error {
	for {
		f, err := w.framer.ReadFrame()
		if err != nil {
			return err
		}
		if s, ok := f.(*frames.SettingsFrame); ok && !s.IsAck() {
			if err := w.framer.WriteSettingsAck(); err != nil {
				return err
			}
		}
		if p, ok := f.(*frames.PingFrame); ok && !p.IsAck() {
			if err := w.framer.WritePing(true, p.Data); err != nil {
				return err
			}
		}
		if found(f) {
			return nil
		}
	}
}

// goAway makes the server send GOAWAY during many lookups, and checks that some connection got
// it. The log contains the witnesses, too.
func goAway(t *testing.T, s *instance) outcome {
	const witnesses = 5
	said := make(chan error, witnesses)
	var all []*witness
	for range witnesses {
		all = append(all, s.witness(t))
	}
	p := s.pool(pool.Config{Protocols: []string{"h2"}, AllowPrivate: true})
	c := s.tally()
	for _, w := range all {
		go func() { said <- w.untilGoAway() }()
	}
	var names int64
	if s.reload != nil {
		names = s.throughReload(t, p)
	} else {
		names, _ = s.batch(t, p, func() {
			s.stop(syscall.SIGTERM)
			s.begin()
		})
	}
	seen := 0
	var failed error
	for range witnesses {
		if err := <-said; err != nil {
			failed = err
		} else {
			seen++
		}
	}
	if seen == 0 {
		t.Errorf("no GOAWAY: %v", failed)
	}
	st := p.Stats()
	out := c.withoutLog().check(t, p, names, "h2", false)
	out.note = fmt.Sprintf("seen on %d of %d, %s", seen, witnesses, retries(st))
	return out
}
