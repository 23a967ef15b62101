package rdaptest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// A hostileH2 is one HTTP/2 connection to a hostile server.
type hostileH2 struct {
	*HostileConn
	block bytes.Buffer
	hpack *hpack.Encoder
	seen  int // number of requests
}

// A script defines the actions of a hostile server on a connection. All fields may be
// nil.
type script struct {
	settings []http2.Setting
	first    []byte                        // frames in place of the server's SETTINGS
	deaf     bool                          // the server acknowledges no SETTINGS and no PING
	start    func(*hostileH2)              // called after the SETTINGS
	request  func(h *hostileH2, id uint32) // called for each request
}

// frame returns the bytes of a frame, whose length field may differ from the payload.
func frame(kind http2.FrameType, flags http2.Flags, stream uint32, payload ...byte) []byte {
	b := []byte{byte(len(payload) >> 16), byte(len(payload) >> 8), byte(len(payload)), byte(kind), byte(flags)}
	return append(binary.BigEndian.AppendUint32(b, stream), payload...)
}

func u32(v uint32) []byte { return binary.BigEndian.AppendUint32(nil, v) }

func setting(id http2.SettingID, v uint32) []byte {
	return append(binary.BigEndian.AppendUint16(nil, uint16(id)), u32(v)...)
}

// fields returns a header block for alternating names and values.
func (h *hostileH2) fields(pairs ...string) []byte {
	h.block.Reset()
	for i := 0; i < len(pairs); i += 2 {
		// a memory buffer does not fail
		_ = h.hpack.WriteField(hpack.HeaderField{Name: pairs[i], Value: pairs[i+1]})
	}
	return bytes.Clone(h.block.Bytes())
}

const endHeaders, endStream = http2.FlagHeadersEndHeaders, http2.FlagHeadersEndStream

// headers sends a whole header block.
func (h *hostileH2) headers(id uint32, flags http2.Flags, pairs ...string) bool {
	return h.send(frame(http2.FrameHeaders, endHeaders|flags, id, h.fields(pairs...)...)...)
}

// ok sends the headers of a good response.
func (h *hostileH2) ok(id uint32) bool {
	return h.headers(id, 0, ":status", "200", "content-type", "application/rdap+json")
}

// serve runs a script on a connection.
func (s script) serve(c *HostileConn) {
	h := &hostileH2{HostileConn: c}
	h.hpack = hpack.NewEncoder(&h.block)
	preface := make([]byte, len(http2.ClientPreface))
	if _, err := io.ReadFull(c.In, preface); err != nil {
		return
	}
	if s.first != nil {
		h.send(s.first...)
	} else {
		var payload []byte
		for _, v := range s.settings {
			payload = append(payload, setting(v.ID, v.Val)...)
		}
		h.send(frame(http2.FrameSettings, 0, 0, payload...)...)
	}
	if s.start != nil {
		s.start(h)
	}
	in := http2.NewFramer(io.Discard, c.In)
	in.AllowIllegalReads = true
	for {
		f, err := in.ReadFrame()
		if err != nil {
			return
		}
		switch f := f.(type) {
		case *http2.SettingsFrame:
			if !s.deaf && !f.IsAck() {
				h.send(frame(http2.FrameSettings, http2.FlagSettingsAck, 0)...)
			}
		case *http2.PingFrame:
			if !s.deaf && !f.IsAck() {
				h.send(frame(http2.FramePing, http2.FlagPingAck, 0, f.Data[:]...)...)
			}
		case *http2.HeadersFrame:
			h.seen++
			if s.request != nil {
				s.request(h, f.StreamID)
			}
		}
	}
}

// hostileHTTP2 returns servers that negotiate HTTP/2.
func hostileHTTP2() []Hostile {
	var list []Hostile
	add := func(name string, s script) {
		list = append(list, Hostile{Name: "HTTP/2: " + name, ALPN: []string{"h2"}, Serve: s.serve})
	}
	// on adds a server that acts on each request.
	on := func(name string, do func(h *hostileH2, id uint32)) { add(name, script{request: do}) }
	// at adds a server that acts at the start of a connection.
	at := func(name string, do func(h *hostileH2)) { add(name, script{start: do}) }
	const pause = 200 * time.Millisecond

	add("silent", script{})
	add("silent and deaf", script{deaf: true})
	add("never sends SETTINGS", script{first: []byte{}})
	at("never reads", func(h *hostileH2) { <-h.done })
	at("closes after SETTINGS", func(h *hostileH2) { _ = h.Close() })
	on("closes on a request", func(h *hostileH2, _ uint32) { _ = h.Close() })
	on("resets the connection on a request", func(h *hostileH2, _ uint32) { h.reset() })

	// Floods of each type of frame, on the connection or on the request's stream.
	for name, b := range map[string][]byte{
		"PING":                       frame(http2.FramePing, 0, 0, make([]byte, 8)...),
		"PING acknowledgements":      frame(http2.FramePing, http2.FlagPingAck, 0, make([]byte, 8)...),
		"SETTINGS":                   frame(http2.FrameSettings, 0, 0, setting(http2.SettingInitialWindowSize, 65535)...),
		"empty SETTINGS":             frame(http2.FrameSettings, 0, 0),
		"SETTINGS acknowledgements":  frame(http2.FrameSettings, http2.FlagSettingsAck, 0),
		"PRIORITY":                   frame(http2.FramePriority, 0, 1, 0, 0, 0, 0, 16),
		"GOAWAY of the highest ID":   frame(http2.FrameGoAway, 0, 0, append(u32(1<<31-1), u32(0)...)...),
		"WINDOW_UPDATE by 1":         frame(http2.FrameWindowUpdate, 0, 0, u32(1)...),
		"unknown frames":             frame(0xee, 0xff, 0, make([]byte, 64)...),
		"unknown empty frames":       frame(0xee, 0, 0),
		"ALTSVC":                     frame(0xa, 0, 0, append([]byte{0, 9}, "https://a h3=\":443\""...)...),
		"RST_STREAM of idle streams": frame(http2.FrameRSTStream, 0, 4001, u32(8)...),
	} {
		at("a flood of "+name, func(h *hostileH2) { h.flood(b) })
	}
	for name, build := range map[string]func(h *hostileH2, id uint32) []byte{
		"empty DATA": func(_ *hostileH2, id uint32) []byte { return frame(http2.FrameData, 0, id) },
		"DATA that is padding": func(_ *hostileH2, id uint32) []byte {
			return frame(http2.FrameData, http2.FlagDataPadded, id, append([]byte{200}, make([]byte, 200)...)...)
		},
		"DATA": func(_ *hostileH2, id uint32) []byte {
			return frame(http2.FrameData, 0, id, []byte(`{"a":[1,2,3]},  `)...)
		},
		"WINDOW_UPDATE": func(_ *hostileH2, id uint32) []byte { return frame(http2.FrameWindowUpdate, 0, id, u32(1)...) },
		"RST_STREAM":    func(_ *hostileH2, id uint32) []byte { return frame(http2.FrameRSTStream, 0, id, u32(8)...) },
		"trailers": func(h *hostileH2, id uint32) []byte {
			return frame(http2.FrameHeaders, endHeaders, id, h.fields("x", "y")...)
		},
		"PUSH_PROMISE": func(h *hostileH2, id uint32) []byte {
			return frame(http2.FramePushPromise, endHeaders, id, append(u32(2), h.fields(":method", "GET")...)...)
		},
		"HEADERS with priority": func(h *hostileH2, id uint32) []byte {
			return frame(http2.FrameHeaders, endHeaders|http2.FlagHeadersPriority, id, append([]byte{0, 0, 0, 0, 1}, h.fields("x", "y")...)...)
		},
		"unexpected CONTINUATION": func(_ *hostileH2, id uint32) []byte { return frame(http2.FrameContinuation, 0, id, 0) },
	} {
		on("a flood of "+name+" on a stream", func(h *hostileH2, id uint32) {
			if h.ok(id) {
				h.flood(build(h, id))
			}
		})
	}
	on("a flood of 103 Early Hints", func(h *hostileH2, id uint32) {
		h.flood(frame(http2.FrameHeaders, endHeaders, id, h.fields(":status", "103")...))
	})
	on("a flood of DATA before the headers", func(h *hostileH2, id uint32) { h.flood(frame(http2.FrameData, 0, id, 'x')) })

	// Faults of flow-control windows.
	on("the window of a stream overflows twice", func(h *hostileH2, id uint32) {
		h.send(bytes.Repeat(frame(http2.FrameWindowUpdate, 0, id, u32(1<<31-1)...), 2)...)
	})
	on("the window of a stream overflows after the headers", func(h *hostileH2, id uint32) {
		h.ok(id)
		h.send(bytes.Repeat(frame(http2.FrameWindowUpdate, 0, id, u32(1<<31-1)...), 2)...)
	})
	on("the window of a stream overflows within the body", func(h *hostileH2, id uint32) {
		h.ok(id)
		h.send(frame(http2.FrameData, 0, id, '{')...)
		h.send(bytes.Repeat(frame(http2.FrameWindowUpdate, 0, id, u32(1<<31-1)...), 2)...)
	})
	at("the window of the connection overflows", func(h *hostileH2) {
		h.send(bytes.Repeat(frame(http2.FrameWindowUpdate, 0, 0, u32(1<<31-1)...), 2)...)
	})
	on("a window grows by zero", func(h *hostileH2, id uint32) { h.send(frame(http2.FrameWindowUpdate, 0, id, u32(0)...)...) })
	at("the window of the connection grows by zero", func(h *hostileH2) { h.send(frame(http2.FrameWindowUpdate, 0, 0, u32(0)...)...) })
	on("all windows are exceeded", func(h *hostileH2, id uint32) {
		if h.ok(id) {
			h.flood(frame(http2.FrameData, 0, id, bytes.Repeat([]byte{' '}, 16<<10)...))
		}
	})
	add("windows of zero", script{settings: []http2.Setting{{ID: http2.SettingInitialWindowSize, Val: 0}}})
	add("an initial window of 2^31", script{settings: []http2.Setting{{ID: http2.SettingInitialWindowSize, Val: 1 << 31}}})
	on("the initial window jumps", func(h *hostileH2, id uint32) {
		h.send(frame(http2.FrameWindowUpdate, 0, id, u32(1<<30)...)...)
		h.send(frame(http2.FrameSettings, 0, 0, setting(http2.SettingInitialWindowSize, 1<<31-1)...)...)
	})

	// Faults of GOAWAY.
	goAway := func(last, code uint32) []byte {
		return frame(http2.FrameGoAway, 0, 0, append(u32(last), u32(code)...)...)
	}
	at("GOAWAY 0 immediately", func(h *hostileH2) { h.send(goAway(0, 0)...) })
	at("GOAWAY 0 immediately, then closes", func(h *hostileH2) { h.send(goAway(0, 0)...); _ = h.Close() })
	on("GOAWAY 0 on a request", func(h *hostileH2, _ uint32) { h.send(goAway(0, 0)...) })
	on("GOAWAY of the request, then silence", func(h *hostileH2, id uint32) { h.send(goAway(id, 0)...) })
	on("GOAWAY that decreases", func(h *hostileH2, id uint32) {
		h.send(goAway(id, 0)...)
		h.send(goAway(id-1, 0)...)
		h.send(goAway(0, 0)...)
	})
	on("GOAWAY that increases", func(h *hostileH2, id uint32) { h.send(goAway(0, 0)...); h.send(goAway(id, 0)...) })
	on("GOAWAY with a protocol error", func(h *hostileH2, id uint32) { h.send(goAway(id, 1)...) })
	on("GOAWAY: enhance your calm", func(h *hostileH2, id uint32) { h.send(goAway(id, 11)...) })
	on("GOAWAY: HTTP/1.1 required", func(h *hostileH2, id uint32) { h.send(goAway(0, 13)...) })
	on("GOAWAY on a stream", func(h *hostileH2, id uint32) { h.send(frame(http2.FrameGoAway, 0, id, make([]byte, 8)...)...) })
	on("GOAWAY with long debug data", func(h *hostileH2, id uint32) {
		h.send(frame(http2.FrameGoAway, 0, 0, append(append(u32(id), u32(2)...), bytes.Repeat([]byte("x"), 16000)...)...)...)
	})
	at("GOAWAY that is too short", func(h *hostileH2) { h.send(frame(http2.FrameGoAway, 0, 0, 0, 0, 0, 0)...) })

	// RST_STREAM with each code.
	for code := range uint32(15) {
		on(fmt.Sprintf("RST_STREAM with code %d", code), func(h *hostileH2, id uint32) {
			h.send(frame(http2.FrameRSTStream, 0, id, u32(code)...)...)
		})
	}
	on("RST_STREAM within the body", func(h *hostileH2, id uint32) {
		h.ok(id)
		h.send(frame(http2.FrameData, 0, id, '{')...)
		h.send(frame(http2.FrameRSTStream, 0, id, u32(2)...)...)
	})

	// Faults of stream limits.
	limit := func(n uint32) []http2.Setting {
		return []http2.Setting{{ID: http2.SettingMaxConcurrentStreams, Val: n}}
	}
	add("a stream limit of 0", script{settings: limit(0)})
	add("a stream limit of 1, and silence", script{settings: limit(1)})
	add("a stream limit that changes all the time", script{settings: limit(0), start: func(h *hostileH2) {
		go func() {
			for i := uint32(0); h.send(frame(http2.FrameSettings, 0, 0, setting(http2.SettingMaxConcurrentStreams, i%2*100)...)...) && h.wait(10*time.Millisecond); i++ {
			}
		}()
	}})
	on("a stream limit of 0 after a request", func(h *hostileH2, _ uint32) {
		h.send(frame(http2.FrameSettings, 0, 0, setting(http2.SettingMaxConcurrentStreams, 0)...)...)
	})

	// Faults of SETTINGS.
	for name, v := range map[string]http2.Setting{
		"a frame size of 0":        {ID: http2.SettingMaxFrameSize, Val: 0},
		"a frame size of 2^24":     {ID: http2.SettingMaxFrameSize, Val: 1 << 24},
		"a frame size of 2^32-1":   {ID: http2.SettingMaxFrameSize, Val: 1<<32 - 1},
		"a header table of 0":      {ID: http2.SettingHeaderTableSize, Val: 0},
		"a header table of 2^32-1": {ID: http2.SettingHeaderTableSize, Val: 1<<32 - 1},
		"push enabled":             {ID: http2.SettingEnablePush, Val: 1},
		"push of 7":                {ID: http2.SettingEnablePush, Val: 7},
		"a header list of 0":       {ID: http2.SettingMaxHeaderListSize, Val: 0},
		"a header list of 1":       {ID: http2.SettingMaxHeaderListSize, Val: 1},
		"an unknown setting":       {ID: 0xffff, Val: 1<<32 - 1},
		"extended CONNECT of 2":    {ID: http2.SettingEnableConnectProtocol, Val: 2},
	} {
		add("SETTINGS with "+name, script{settings: []http2.Setting{v}})
	}
	for name, b := range map[string][]byte{
		"of a wrong length":               frame(http2.FrameSettings, 0, 0, 0, 3, 0),
		"on a stream":                     frame(http2.FrameSettings, 0, 1),
		"that acknowledge with a payload": frame(http2.FrameSettings, http2.FlagSettingsAck, 0, make([]byte, 6)...),
		"after a PING":                    frame(http2.FramePing, 0, 0, make([]byte, 8)...),
		"after DATA":                      frame(http2.FrameData, 0, 1, 'x'),
		"after HEADERS":                   frame(http2.FrameHeaders, endHeaders, 1, 0x88),
		"with ten thousand values":        frame(http2.FrameSettings, 0, 0, bytes.Repeat(setting(0xfff0, 1), 2700)...),
	} {
		add("SETTINGS "+name, script{first: b})
	}

	// Faults of header blocks.
	on("headers that never end", func(h *hostileH2, id uint32) {
		h.send(frame(http2.FrameHeaders, 0, id, h.fields(":status", "200")...)...)
		h.flood(frame(http2.FrameContinuation, 0, id, h.fields("x-name", strings.Repeat("a", 100))...))
	})
	on("headers that never end, in empty frames", func(h *hostileH2, id uint32) {
		h.send(frame(http2.FrameHeaders, 0, id, h.fields(":status", "200")...)...)
		h.flood(frame(http2.FrameContinuation, 0, id))
	})
	on("headers that never end, then another frame", func(h *hostileH2, id uint32) {
		h.send(frame(http2.FrameHeaders, 0, id, h.fields(":status", "200")...)...)
		h.send(frame(http2.FramePing, 0, 0, make([]byte, 8)...)...)
	})
	on("headers that never end, then silence", func(h *hostileH2, id uint32) {
		h.send(frame(http2.FrameHeaders, 0, id, h.fields(":status", "200")...)...)
	})
	on("an HPACK bomb", func(h *hostileH2, id uint32) {
		// the fields are now in the dynamic table
		block := h.fields(":status", "200", "x", strings.Repeat("b", 3000))
		h.send(frame(http2.FrameHeaders, endHeaders, id, append(block, bytes.Repeat([]byte{0xbe}, 12000)...)...)...)
	})
	for name, block := range map[string][]byte{
		"a missing index":                {0x88, 0xff, 0xff, 0xff, 0x0f},
		"an index of 0":                  {0x80},
		"an integer without end":         append([]byte{0xff}, bytes.Repeat([]byte{0xff}, 100)...),
		"a string longer than the block": {0x88, 0x00, 0x7f, 0xff, 0x7f},
		"a broken Huffman code":          {0x88, 0x00, 0x83, 0xff, 0xff, 0xff, 0x01, 'x'},
		"a table size beyond the limit":  {0x3f, 0xff, 0xff, 0xff, 0x07, 0x88},
		"a table size after a field":     {0x88, 0x20},
		"no fields":                      {},
	} {
		on("HPACK: "+name, func(h *hostileH2, id uint32) { h.send(frame(http2.FrameHeaders, endHeaders, id, block...)...) })
	}
	on("a header of a megabyte", func(h *hostileH2, id uint32) {
		block := h.fields(":status", "200", "x", strings.Repeat("\x7f", 1<<20))
		kind, flags := http2.FrameHeaders, http2.Flags(0)
		for len(block) > 0 {
			n := min(len(block), 16<<10)
			if n == len(block) {
				flags = endHeaders
			}
			h.send(frame(kind, flags, id, block[:n]...)...)
			kind, block = http2.FrameContinuation, block[n:]
		}
	})
	for name, pairs := range map[string][]string{
		"no status":                   {"content-type", "text/plain"},
		"a status of letters":         {":status", "abc"},
		"an empty status":             {":status", ""},
		"status 99":                   {":status", "99"},
		"status 1000":                 {":status", "1000"},
		"status 101":                  {":status", "101"},
		"two statuses":                {":status", "200", ":status", "404"},
		"a status behind a field":     {"a", "b", ":status", "200"},
		"a pseudo-header of requests": {":status", "200", ":path", "/"},
		"an unknown pseudo-header":    {":status", "200", ":x", "y"},
		"a name in upper case":        {":status", "200", "X-Name", "y"},
		"an empty name":               {":status", "200", "", "y"},
		"a name with a space":         {":status", "200", "a b", "y"},
		"a value with line breaks":    {":status", "200", "a", "b\r\nc: d"},
		"a connection header":         {":status", "200", "connection", "keep-alive"},
		"a transfer coding":           {":status", "200", "transfer-encoding", "chunked"},
		"a negative length":           {":status", "200", "content-length", "-1"},
		"a non-numeric length":        {":status", "200", "content-length", "many"},
		"two lengths":                 {":status", "200", "content-length", "0", "content-length", "5"},
		"a length without a body":     {":status", "200", "content-length", "5"},
		"status 421":                  {":status", "421"},
		"status 425":                  {":status", "425"},
		"status 503":                  {":status", "503"},
	} {
		on("headers with "+name, func(h *hostileH2, id uint32) { h.headers(id, endStream, pairs...) })
	}
	on("a body longer than its length", func(h *hostileH2, id uint32) {
		h.headers(id, 0, ":status", "200", "content-length", "1")
		h.send(frame(http2.FrameData, http2.FlagDataEndStream, id, []byte(`{"a":1}`)...)...)
	})
	on("trailers with a pseudo-header", func(h *hostileH2, id uint32) {
		h.ok(id)
		h.headers(id, endStream, ":status", "404")
	})
	on("trailers that do not end the stream", func(h *hostileH2, id uint32) { h.ok(id); h.headers(id, 0, "x", "y") })

	// Frames at wrong places.
	for name, build := range map[string]func(h *hostileH2, id uint32) []byte{
		"HEADERS on an idle stream":       func(h *hostileH2, _ uint32) []byte { return frame(http2.FrameHeaders, endHeaders, 999, 0x88) },
		"HEADERS on an even stream":       func(h *hostileH2, _ uint32) []byte { return frame(http2.FrameHeaders, endHeaders, 2, 0x88) },
		"HEADERS on stream 0":             func(h *hostileH2, _ uint32) []byte { return frame(http2.FrameHeaders, endHeaders, 0, 0x88) },
		"DATA on an idle stream":          func(h *hostileH2, _ uint32) []byte { return frame(http2.FrameData, 0, 999, 'x') },
		"DATA on an even stream":          func(h *hostileH2, _ uint32) []byte { return frame(http2.FrameData, 0, 2, 'x') },
		"DATA on stream 0":                func(h *hostileH2, _ uint32) []byte { return frame(http2.FrameData, 0, 0, 'x') },
		"RST_STREAM on an idle stream":    func(h *hostileH2, _ uint32) []byte { return frame(http2.FrameRSTStream, 0, 999, u32(2)...) },
		"RST_STREAM on stream 0":          func(h *hostileH2, _ uint32) []byte { return frame(http2.FrameRSTStream, 0, 0, u32(2)...) },
		"WINDOW_UPDATE on an idle stream": func(h *hostileH2, _ uint32) []byte { return frame(http2.FrameWindowUpdate, 0, 999, u32(9)...) },
		"CONTINUATION without HEADERS":    func(h *hostileH2, id uint32) []byte { return frame(http2.FrameContinuation, endHeaders, id, 0x88) },
		"PING on a stream":                func(h *hostileH2, id uint32) []byte { return frame(http2.FramePing, 0, id, make([]byte, 8)...) },
		"PING of a wrong length":          func(h *hostileH2, _ uint32) []byte { return frame(http2.FramePing, 0, 0, 1, 2, 3) },
		"RST_STREAM of a wrong length":    func(h *hostileH2, id uint32) []byte { return frame(http2.FrameRSTStream, 0, id, 1) },
		"WINDOW_UPDATE of a wrong length": func(h *hostileH2, id uint32) []byte { return frame(http2.FrameWindowUpdate, 0, id, 1) },
		"PRIORITY of itself":              func(h *hostileH2, id uint32) []byte { return frame(http2.FramePriority, 0, id, append(u32(id), 1)...) },
		"PUSH_PROMISE": func(h *hostileH2, id uint32) []byte {
			return frame(http2.FramePushPromise, endHeaders, id, 0, 0, 0, 2, 0x82)
		},
		"padding longer than the frame": func(h *hostileH2, id uint32) []byte {
			return frame(http2.FrameHeaders, endHeaders|http2.FlagHeadersPadded, id, 255, 0x88)
		},
		"a frame larger than allowed": func(h *hostileH2, id uint32) []byte { return frame(http2.FrameData, 0, id, make([]byte, 1<<20)...) },
	} {
		on(name, func(h *hostileH2, id uint32) { h.send(build(h, id)...) })
	}
	on("HEADERS again after the end", func(h *hostileH2, id uint32) {
		h.headers(id, endStream, ":status", "500")
		h.headers(id, endStream, ":status", "200")
	})
	on("DATA after the end", func(h *hostileH2, id uint32) {
		h.headers(id, endStream, ":status", "500")
		h.send(frame(http2.FrameData, 0, id, 'x')...)
	})

	// Frames that drip or are truncated.
	on("drips the headers", func(h *hostileH2, id uint32) {
		h.drip(frame(http2.FrameHeaders, endHeaders|endStream, id, h.fields(":status", "404")...), pause)
	})
	on("drips the body", func(h *hostileH2, id uint32) {
		h.ok(id)
		h.dripForever(frame(http2.FrameData, 0, id, ' '), pause)
	})
	on("drips empty DATA", func(h *hostileH2, id uint32) {
		h.ok(id)
		h.dripForever(frame(http2.FrameData, 0, id), pause)
	})
	on("drips PING, and nothing else", func(h *hostileH2, _ uint32) { h.dripForever(frame(http2.FramePing, 0, 0, make([]byte, 8)...), pause) })
	on("headers, then silence", func(h *hostileH2, id uint32) { h.ok(id) })
	on("half a body, then silence", func(h *hostileH2, id uint32) {
		h.ok(id)
		h.send(frame(http2.FrameData, 0, id, []byte(`{"objectClassName":`)...)...)
	})
	on("breaks off within a frame header", func(h *hostileH2, _ uint32) { h.send(0, 0); _ = h.Close() })
	on("breaks off within HEADERS", func(h *hostileH2, id uint32) {
		b := frame(http2.FrameHeaders, endHeaders, id, h.fields(":status", "200")...)
		h.send(b[:len(b)-1]...)
		_ = h.Close()
	})
	on("breaks off within DATA", func(h *hostileH2, id uint32) {
		h.ok(id)
		b := frame(http2.FrameData, 0, id, []byte(`{"objectClassName":`)...)
		h.send(b[:len(b)-4]...)
		_ = h.Close()
	})
	on("breaks off after the headers", func(h *hostileH2, id uint32) { h.ok(id); _ = h.Close() })
	on("resets after the headers", func(h *hostileH2, id uint32) { h.ok(id); h.reset() })

	// Faults of bodies.
	bomb := gzipBomb(64 << 20)
	on("a gzip bomb", func(h *hostileH2, id uint32) {
		h.headers(id, 0, ":status", "200", "content-type", "application/rdap+json", "content-encoding", "gzip")
		for b := bomb; len(b) > 0; {
			n := min(len(b), 16<<10)
			h.send(frame(http2.FrameData, 0, id, b[:n]...)...)
			b = b[n:]
		}
		h.send(frame(http2.FrameData, http2.FlagDataEndStream, id)...)
	})
	on("endless redirects", func(h *hostileH2, id uint32) {
		h.headers(id, endStream, ":status", "302", "location", fmt.Sprintf("/%d", time.Now().UnixNano()))
	})
	add("speaks HTTP/1.1", script{first: []byte("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")})
	return list
}
