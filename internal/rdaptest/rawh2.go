package rdaptest

import (
	"bufio"
	"bytes"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// RawH2 is an HTTP/2 server at the level of frames, for behaviour that net/http does not offer.
// Set it as [ConnRules].Raw. It responds in the order of the requests, with status, header and
// body from the server's source and [Server.On]; bodies are cut at 60,000 bytes. It numbers
// requests per connection, from 1. [ConnRules] offers black holes, hang-ups and so on.
type RawH2 struct {
	MaxStreams uint32 // SETTINGS_MAX_CONCURRENT_STREAMS of the first SETTINGS; 0 means 100; Unannounced means none
	// reports whether to respond to request n with RST_STREAM (REFUSED_STREAM); nil means never
	Refuse func(n int64) bool
	// reports whether to send request n half its body, then RST_STREAM (INTERNAL_ERROR); nil
	// means never
	CutBody func(n int64) bool
	Hold    int64 // number of requests that must arrive before the server sends responses

	// LowerOn is the number of the request on which the server lowers the stream limit to
	// LowerTo. 0 means never.
	LowerOn int64
	LowerTo uint32

	// GoAwayOn is the number of the request on which the server sends GOAWAY. The frame has
	// GoAwayCode, and as the last stream that of request GoAwayLast (0 means none). Requests
	// above GoAwayLast get no response; the others do, even if held. 0 means never.
	GoAwayOn    int64
	GoAwayLast  int64
	GoAwayCode  uint32 // error code, such as 0 (NO_ERROR) or 11 (ENHANCE_YOUR_CALM)
	GoAwayClose bool   // close the connection after the last response
	GoAwayVague bool   // send the highest possible stream instead (RFC 9113 section 6.8)

	IgnorePings bool // do not acknowledge PING frames

	// Accept returns the limit of concurrent requests on a connection of the given age, when
	// request n arrives. The server refuses requests above the limit with RST_STREAM
	// (REFUSED_STREAM), and [RawH2.Refused] counts them. Nil means no limit.
	Accept  func(age time.Duration, n int64) int
	Latency time.Duration // delay between a request and its response

	// First writes frames in place of the server's first SETTINGS. Request writes frames on
	// request n, and returns false if the server sends no other response. After returns frames
	// to write at an age of the connection. Any of them may be nil.
	First   func(c *RawConn)
	Request func(c *RawConn, n int64) bool
	After   map[time.Duration]func(c *RawConn)

	refused atomic.Int64
}

// Unannounced is a MaxStreams that the server does not announce.
const Unannounced = math.MaxUint32

// Refused returns the number of requests refused because of Accept.
func (r *RawH2) Refused() int64 { return r.refused.Load() }

// A RawConn is the connection of a [RawH2] on which to write frames.
type RawConn struct {
	*http2.Framer        // writes frames, which are sent when the function returns
	Stream        uint32 // stream of the request; 0 without a request
}

const (
	rawFrame   = 16 << 10
	rawBodyMax = 60_000 // size that fits into any stream's first window
)

// A rawConn serves one connection, in one goroutine.
type rawConn struct {
	*RawH2
	server *Server
	conn   *conn
	mu     sync.Mutex // held while a frame is handled and written
	start  time.Time
	open   int // number of requests delayed by Latency
	out    *bufio.Writer
	framer *http2.Framer
	block  bytes.Buffer // collects header blocks
	hpack  *hpack.Encoder

	window  int64 // flow-control window of the connection
	seen    int64 // number of requests
	streams map[int64]uint32
	due     []rawAnswer
	away    bool
}

type rawAnswer struct {
	n      int64
	stream uint32
	plan   *plan
}

func (r *RawH2) serve(c *conn) {
	defer c.kill()
	in := bufio.NewReader(c)
	rc := &rawConn{
		RawH2: r, server: c.server, conn: c, out: bufio.NewWriter(c), window: 65_535,
		streams: make(map[int64]uint32), start: time.Now(),
	}
	rc.hpack = hpack.NewEncoder(&rc.block)
	rc.framer = http2.NewFramer(rc.out, in)
	rc.framer.ReadMetaHeaders = hpack.NewDecoder(4<<10, nil)

	preface := make([]byte, len(http2.ClientPreface))
	if _, err := io.ReadFull(in, preface); err != nil || string(preface) != http2.ClientPreface {
		return
	}
	rc.mu.Lock()
	defer rc.mu.Unlock()
	if rc.first() != nil {
		return
	}
	for age, f := range r.After {
		timer := time.AfterFunc(age, func() { rc.later(func() { f(&RawConn{Framer: rc.framer}) }) })
		defer timer.Stop()
	}
	for {
		if in.Buffered() == 0 && rc.out.Flush() != nil {
			return
		}
		rc.mu.Unlock()
		frame, err := rc.framer.ReadFrame()
		rc.mu.Lock()
		if err != nil || !rc.handle(frame) {
			rc.out.Flush()
			if rc.away && rc.GoAwayClose {
				c.linger()
			}
			return
		}
	}
}

// first writes the first SETTINGS.
func (rc *rawConn) first() error {
	switch {
	case rc.First != nil:
		rc.First(&RawConn{Framer: rc.framer})
		return nil
	case rc.MaxStreams == Unannounced:
		return rc.framer.WriteSettings()
	}
	limit := rc.MaxStreams
	if limit == 0 {
		limit = 100
	}
	return rc.framer.WriteSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: limit})
}

// later runs f and flushes the frames that f wrote. Other goroutines call it.
func (rc *rawConn) later(f func()) {
	rc.mu.Lock()
	defer rc.mu.Unlock()
	f()
	rc.out.Flush()
}

// handle processes a frame, and reports whether to continue.
func (rc *rawConn) handle(frame http2.Frame) bool {
	switch f := frame.(type) {
	case *http2.SettingsFrame:
		return f.IsAck() || rc.framer.WriteSettingsAck() == nil
	case *http2.PingFrame:
		return f.IsAck() || rc.IgnorePings || rc.framer.WritePing(true, f.Data) == nil
	case *http2.WindowUpdateFrame:
		if f.StreamID == 0 {
			rc.window += int64(f.Increment)
		}
		return rc.answerDue()
	case *http2.RSTStreamFrame:
		for i, a := range rc.due {
			if a.stream == f.StreamID {
				rc.due = append(rc.due[:i], rc.due[i+1:]...)
				rc.server.tally.end(rc.conn.tally)
				break
			}
		}
		return true
	case *http2.GoAwayFrame:
		return false
	case *http2.MetaHeadersFrame:
		return rc.request(f)
	}
	return true
}

func (rc *rawConn) request(f *http2.MetaHeadersFrame) bool {
	s, c := rc.server, rc.conn
	if s.config.Log {
		s.tally.keep(LogEntry{
			Conn: c.number, Protocol: "HTTP/2.0", Method: f.PseudoValue("method"),
			URI: f.PseudoValue("path"), Host: f.PseudoValue("authority"), Header: header(f),
		})
	}
	prior := s.tally.begin(c.tally)
	rc.seen++
	n := rc.seen
	rc.streams[n] = f.StreamID
	if limit := c.rules.HangUpAfter; limit > 0 && prior >= int64(limit) {
		return false
	}
	if n == rc.LowerOn && rc.framer.WriteSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: rc.LowerTo}) != nil {
		return false
	}
	switch {
	case rc.Request != nil && !rc.Request(&RawConn{Framer: rc.framer, Stream: f.StreamID}, n):
		s.tally.end(c.tally)
	case rc.Accept != nil && rc.open >= rc.Accept(time.Since(rc.start), n):
		rc.refused.Add(1)
		s.tally.end(c.tally)
		if rc.framer.WriteRSTStream(f.StreamID, http2.ErrCodeRefusedStream) != nil {
			return false
		}
	case rc.GoAwayOn > 0 && n > rc.GoAwayLast:
		// Send no response to requests above the last stream of GOAWAY.
	case rc.Refuse != nil && rc.Refuse(n):
		s.tally.end(c.tally)
		if rc.framer.WriteRSTStream(f.StreamID, http2.ErrCodeRefusedStream) != nil {
			return false
		}
	default:
		path, _, _ := strings.Cut(f.PseudoValue("path"), "?")
		p := &plan{path: path, conn: c, prior: prior, cut: -1}
		s.rules.apply(p)
		s.compose(p, f.PseudoValue("authority"))
		p.body = p.body[:min(len(p.body), rawBodyMax)]
		a := rawAnswer{n, f.StreamID, p}
		if rc.Latency == 0 {
			rc.due = append(rc.due, a)
			break
		}
		rc.open++
		time.AfterFunc(rc.Latency, func() {
			rc.later(func() {
				rc.open--
				rc.due = append(rc.due, a)
				rc.answerDue()
			})
		})
	}
	if n == rc.GoAwayOn {
		rc.away = true
		last := rc.streams[rc.GoAwayLast]
		if rc.GoAwayVague {
			last = 1<<31 - 1
		}
		if rc.framer.WriteGoAway(last, http2.ErrCode(rc.GoAwayCode), nil) != nil {
			return false
		}
	}
	return rc.answerDue()
}

// answerDue sends the responses that are due and not held.
func (rc *rawConn) answerDue() bool {
	for len(rc.due) > 0 && rc.seen >= rc.Hold {
		a := rc.due[0]
		if int64(len(a.plan.body)) > rc.window {
			return true
		}
		rc.due = rc.due[1:]
		if !rc.send(a) {
			return false
		}
	}
	return !rc.away || !rc.GoAwayClose || len(rc.due) > 0
}

func (rc *rawConn) send(a rawAnswer) bool {
	defer rc.server.tally.end(rc.conn.tally)
	body := a.plan.body
	cut := rc.CutBody != nil && rc.CutBody(a.n)
	rc.block.Reset()
	rc.field(":status", strconv.Itoa(a.plan.status))
	if a.plan.contentType != "" && a.plan.header.Get("Content-Type") == "" {
		rc.field("content-type", a.plan.contentType)
	}
	rc.field("content-length", strconv.Itoa(len(body)))
	for name, values := range a.plan.header {
		for _, v := range values {
			rc.field(strings.ToLower(name), v)
		}
	}
	if cut {
		body = body[:len(body)/2]
	}
	err := rc.framer.WriteHeaders(http2.HeadersFrameParam{
		StreamID: a.stream, BlockFragment: rc.block.Bytes(), EndHeaders: true, EndStream: len(body) == 0 && !cut,
	})
	rc.window -= int64(len(body))
	for len(body) > 0 && err == nil {
		chunk := body[:min(len(body), rawFrame)]
		body = body[len(chunk):]
		err = rc.framer.WriteData(a.stream, len(body) == 0 && !cut, chunk)
	}
	if cut && err == nil {
		err = rc.framer.WriteRSTStream(a.stream, http2.ErrCodeInternal)
	}
	return err == nil
}

func (rc *rawConn) field(name, value string) {
	rc.hpack.WriteField(hpack.HeaderField{Name: name, Value: value})
}

func header(f *http2.MetaHeadersFrame) http.Header {
	h := make(http.Header)
	for _, field := range f.RegularFields() {
		h.Add(field.Name, field.Value)
	}
	return h
}
