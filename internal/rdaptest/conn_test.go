package rdaptest

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
)

// awaitClosed waits until the server has closed all connections, and drops the client's idle
// connections, because the client may not have detected the close yet.
func awaitClosed(t *testing.T, s *Server, client *http.Client) {
	t.Helper()
	if err := s.AwaitOpen(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	client.CloseIdleConnections()
}

func TestCloseAfter(t *testing.T) {
	each(t, Config{Conn: ConnRules{CloseAfter: 2}}, func(t *testing.T, s *Server, client *http.Client) {
		for i := range 6 {
			resp, body := get(t, client, s.URL()+"domain/dom1.com") // the second response is complete
			if resp.StatusCode != 200 || resp.Close {
				t.Fatalf("request %d: status %d, announced: %v, body %q", i, resp.StatusCode, resp.Close, body)
			}
			if i%2 == 1 {
				awaitClosed(t, s, client)
			}
		}
		if got := s.Counts().PerConn(); !slices.Equal(got, []int64{2, 2, 2}) {
			t.Errorf("requests per connection %v", got)
		}
	})
}

func TestAnnounceAfter(t *testing.T) {
	each(t, Config{Conn: ConnRules{AnnounceAfter: 3}}, func(t *testing.T, s *Server, client *http.Client) {
		for i := range 6 {
			resp, _ := get(t, client, s.URL()+"domain/dom1.com")
			if resp.ProtoMajor == 1 && resp.Close != (i%3 == 2) {
				t.Errorf("request %d: announced: %v", i, resp.Close)
			}
			if i%3 == 2 {
				awaitClosed(t, s, client)
			}
		}
		if got := s.Counts().PerConn(); !slices.Equal(got, []int64{3, 3}) {
			t.Errorf("requests per connection %v", got)
		}
	})
}

func TestIdleClose(t *testing.T) {
	each(t, Config{Conn: ConnRules{IdleClose: 50 * time.Millisecond}}, func(t *testing.T, s *Server, client *http.Client) {
		for range 3 {
			get(t, client, s.URL()+"domain/dom1.com")
			awaitClosed(t, s, client)
		}
		if n := s.Counts(); n.GoAways != 0 || n.Connections != 3 {
			t.Errorf("counts %+v", n)
		}
	})
}

func TestIdleCloseSparesTheBusy(t *testing.T) {
	each(t, Config{Conn: ConnRules{IdleClose: 100 * time.Millisecond}}, func(t *testing.T, s *Server, client *http.Client) {
		s.On("*", Latency(200*time.Millisecond))
		if resp, _ := get(t, client, s.URL()+"domain/dom1.com"); resp.StatusCode != 200 {
			t.Error(resp.Status)
		}
	})
}

func TestHangUpAfter(t *testing.T) {
	each(t, Config{Conn: ConnRules{HangUpAfter: 2, First: 1}}, func(t *testing.T, s *Server, client *http.Client) {
		for range 2 {
			get(t, client, s.URL()+"domain/dom1.com")
		}
		resp, err := client.Get(s.URL() + "domain/dom1.com") // net/http may or may not retry
		if err == nil {
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		for range 3 {
			get(t, client, s.URL()+"domain/dom1.com")
		}
		n := s.Counts()
		if n.Connections != 2 || n.Conns[0].Requests != 3 || n.Conns[1].Requests < 3 {
			t.Errorf("counts %+v", n)
		}
	})
}

func TestRefuseAndSilence(t *testing.T) {
	s := Start(t, Config{Conn: ConnRules{Refuse: true, First: 1}})
	client := s.Client()
	t.Cleanup(client.CloseIdleConnections)
	if resp, err := client.Get(s.URL() + "help"); err == nil {
		t.Error(resp.Status)
	}
	get(t, client, s.URL()+"help")
	if n := s.Counts(); n.Connections != 2 || n.Handshakes() != 1 || n.FailedHandshakes != 0 {
		t.Errorf("counts %+v", n)
	}

	silent := Start(t, Config{Conn: ConnRules{SilentTLS: true}})
	c, err := net.Dial("tcp", silent.Addr())
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() {
		done <- tls.Client(c, &tls.Config{ServerName: "localhost", RootCAs: silent.Pool()}).HandshakeContext(t.Context())
	}()
	if err := silent.AwaitConnections(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if n := silent.Counts(); n.Open != 1 || n.BytesOut != 0 {
		t.Errorf("counts %+v", n)
	}
	silent.Close()
	if err := <-done; err == nil {
		t.Error("unexpected handshake")
	}
	if n := silent.Counts(); n.BytesOut != 0 || n.Handshakes() != 0 {
		t.Errorf("counts %+v", n)
	}
}

func TestBlackHole(t *testing.T) {
	each(t, Config{Conn: ConnRules{BlackHoleAfter: 2, First: 1}}, func(t *testing.T, s *Server, client *http.Client) {
		for range 2 {
			get(t, client, s.URL()+"domain/dom1.com")
		}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, "GET", s.URL()+"domain/dom1.com", nil)
		if err != nil {
			t.Fatal(err)
		}
		if resp, err := client.Do(req); err == nil {
			t.Error(resp.Status)
		}
		n := s.Counts()
		if n.Connections != 1 || n.Open != 1 || n.Requests != 2 {
			t.Errorf("counts %+v", n)
		}
		client.CloseIdleConnections()
		fresh := s.Client()
		t.Cleanup(fresh.CloseIdleConnections)
		for range 3 {
			get(t, fresh, s.URL()+"domain/dom1.com")
		}
	})
}

func TestCloseConnsAndAnnounceClose(t *testing.T) {
	each(t, Config{}, func(t *testing.T, s *Server, client *http.Client) {
		get(t, client, s.URL()+"domain/dom1.com")
		s.AnnounceClose()
		get(t, client, s.URL()+"domain/dom1.com")
		awaitClosed(t, s, client)
		get(t, client, s.URL()+"domain/dom1.com")
		s.CloseConns()
		awaitClosed(t, s, client)
		if got := s.Counts().PerConn(); !slices.Equal(got, []int64{2, 1}) {
			t.Errorf("requests per connection %v", got)
		}
	})
}

// rawStatuses sends n concurrent requests, on one connection if the client permits, and
// returns the number of responses and the errors.
func rawStatuses(t *testing.T, client *http.Client, url string, n int) (answers int, errs []error) {
	t.Helper()
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			resp, err := client.Get(url)
			if err == nil {
				_, err = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				errs = append(errs, err)
			} else {
				answers++
			}
		})
	}
	wg.Wait()
	return answers, errs
}

func TestRawAnswers(t *testing.T) {
	s := Start(t, Config{Protocols: H2Only, Conn: ConnRules{Raw: &RawH2{}}, Log: true})
	client := s.Client()
	t.Cleanup(client.CloseIdleConnections)
	s.On("/domain/gone.com", Status(404), NoBody(), RetryAfter("1"))
	resp, body := get(t, client, s.URL()+"domain/dom1.com")
	if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != rdapType || !strings.Contains(body, "DOM1.COM") {
		t.Errorf("status %d, body %q", resp.StatusCode, body)
	}
	resp, body = get(t, client, s.URL()+"domain/gone.com")
	if resp.StatusCode != 404 || body != "" || resp.Header.Get("Retry-After") != "1" {
		t.Errorf("status %d, body %q, header %v", resp.StatusCode, body, resp.Header)
	}
	if n, errs := rawStatuses(t, client, s.URL()+"domain/dom2.com", 200); n != 200 {
		t.Errorf("%d responses, %v", n, errs)
	}
	log := s.Log()
	if n := s.Counts(); n.Requests != 202 || len(log) != 202 || log[0].URI != "/domain/dom1.com" || log[0].Host != s.Addr() {
		t.Errorf("counts %+v, log %+v", n, log[0])
	}
}

func TestRawRefuses(t *testing.T) {
	// net/http retries after REFUSED_STREAM.
	s := Start(t, Config{Protocols: H2Only, Conn: ConnRules{Raw: &RawH2{Refuse: func(n int64) bool { return n == 2 }}}})
	client := s.Client()
	t.Cleanup(client.CloseIdleConnections)
	for range 3 {
		get(t, client, s.URL()+"domain/dom1.com")
	}
	if n := s.Counts(); n.Requests != 4 || n.Connections != 1 {
		t.Errorf("counts %+v", n)
	}
}

func TestRawCutsBody(t *testing.T) {
	s := Start(t, Config{Protocols: H2Only, Conn: ConnRules{Raw: &RawH2{CutBody: func(n int64) bool { return n == 1 }}}})
	client := s.Client()
	t.Cleanup(client.CloseIdleConnections)
	if n, errs := rawStatuses(t, client, s.URL()+"domain/dom1.com", 1); n != 0 || len(errs) != 1 {
		t.Errorf("%d responses, %v", n, errs)
	}
	if n, errs := rawStatuses(t, client, s.URL()+"domain/dom1.com", 1); n != 1 {
		t.Errorf("%d responses, %v", n, errs)
	}
}

// rawClient returns a framer that speaks HTTP/2 to the server frame by frame.
func rawClient(t *testing.T, s *Server, requests int) *http2.Framer {
	t.Helper()
	c, err := tls.Dial("tcp", s.Addr(), &tls.Config{RootCAs: s.Pool(), NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	io.WriteString(c, http2.ClientPreface)
	f := http2.NewFramer(c, c)
	f.WriteSettings()
	// The block has :method GET, :scheme https, :path /domain/dom1.com, and :authority a.
	block := []byte("\x82\x87\x04\x10/domain/dom1.com\x01\x01a")
	for i := range requests {
		if err := f.WriteHeaders(http2.HeadersFrameParam{
			StreamID: uint32(2*i + 1), BlockFragment: block, EndHeaders: true, EndStream: true,
		}); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

func TestRawGoAwayBelowWhatIsInFlight(t *testing.T) {
	s := Start(t, Config{Protocols: H2Only, Conn: ConnRules{Raw: &RawH2{
		Hold: 5, GoAwayOn: 5, GoAwayLast: 2, GoAwayCode: 11, GoAwayClose: true,
	}}})
	f := rawClient(t, s, 5)
	var answered []uint32
	var last, code uint32
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			break
		}
		switch frame := frame.(type) {
		case *http2.GoAwayFrame:
			last, code = frame.LastStreamID, uint32(frame.ErrCode)
		case *http2.HeadersFrame:
			answered = append(answered, frame.StreamID)
		}
	}
	if last != 3 || code != 11 || !slices.Equal(answered, []uint32{1, 3}) {
		t.Errorf("last stream %d, code %d, responses %v", last, code, answered)
	}
	if n := s.Counts(); n.GoAways != 1 || n.Requests != 5 {
		t.Errorf("counts %+v", n)
	}
}

func TestRawLowersLimitAndIgnoresPings(t *testing.T) {
	s := Start(t, Config{Protocols: H2Only, Conn: ConnRules{Raw: &RawH2{MaxStreams: 50, LowerOn: 2, LowerTo: 1, IgnorePings: true}}})
	f := rawClient(t, s, 1)
	f.WritePing(false, [8]byte{1})
	f.WriteHeaders(http2.HeadersFrameParam{
		StreamID: 3, BlockFragment: []byte("\x82\x87\x84\x01\x01a"), EndHeaders: true, EndStream: true,
	})
	var limits []uint32
	for ended := 0; ended < 2; {
		frame, err := f.ReadFrame()
		if err != nil {
			t.Fatal(err)
		}
		switch frame := frame.(type) {
		case *http2.SettingsFrame:
			if v, ok := frame.Value(http2.SettingMaxConcurrentStreams); ok {
				limits = append(limits, v)
			}
		case *http2.PingFrame:
			t.Error("PING acknowledged")
		case *http2.DataFrame:
			if frame.StreamEnded() {
				ended++
			}
		}
	}
	if !slices.Equal(limits, []uint32{50, 1}) {
		t.Errorf("limits %v", limits)
	}
}

func TestBlackHoleCutsBetweenFrames(t *testing.T) {
	s := Start(t, Config{Protocols: H2Only, Conn: ConnRules{BlackHoleAfter: 3, Raw: &RawH2{Hold: 10}}})
	s.On("*", Status(404))
	f := rawClient(t, s, 10)
	ended := 0
	for ended < 3 {
		frame, err := f.ReadFrame()
		if err != nil {
			t.Fatal(err)
		}
		if d, ok := frame.(*http2.DataFrame); ok && d.StreamEnded() {
			ended++
		}
	}
	s.Close()
	if frame, err := f.ReadFrame(); err == nil {
		t.Errorf("after the last response:  %v", frame)
	}
}

func TestFrameCounter(t *testing.T) {
	var stream bytes.Buffer
	f := http2.NewFramer(&stream, nil)
	f.WriteSettings()
	f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte{0x88}, EndHeaders: true})
	f.WriteData(1, false, make([]byte, 300))
	f.WriteData(1, true, make([]byte, 5))
	f.WriteHeaders(http2.HeadersFrameParam{StreamID: 3, BlockFragment: []byte{0x88}, EndHeaders: true, EndStream: true})
	f.WriteGoAway(3, http2.ErrCodeNo, []byte("bye"))
	f.WriteData(5, true, nil)
	for _, size := range []int{1, 2, 7, 9, 10, 100, 1000} {
		var c frameCounter
		ends, aways := 0, 0
		for chunk := range slices.Chunk(stream.Bytes(), size) {
			for len(chunk) > 0 {
				n, ended, away := c.next(chunk)
				if n == 0 {
					t.Fatal("no progress")
				}
				chunk = chunk[n:]
				if ended {
					ends++
				}
				if away {
					aways++
				}
			}
		}
		if ends != 3 || aways != 1 {
			t.Errorf("in pieces of %d: %d ends, %d GOAWAYs", size, ends, aways)
		}
	}
}
