package rdaptest

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

const testRTT = 90 * time.Millisecond

// since returns the fake time that has passed.
func since(t time.Time) time.Duration { return time.Since(t) }

// settle lets closed connections send their last bytes. A goroutine that still runs when a test
// returns would fail the test.
func settle() { time.Sleep(time.Minute) }

func TestDelayTakesHalfARoundTripEachWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		c := Delay(near, testRTT)
		start := time.Now()
		go func() {
			buf := make([]byte, 4)
			io.ReadFull(far, buf)
			if d := since(start); d != testRTT/2 {
				t.Errorf("arrived after %v", d)
			}
			far.Write([]byte("pong"))
		}()
		c.Write([]byte("ping"))
		if d := since(start); d != 0 {
			t.Errorf("Write took %v", d)
		}
		buf := make([]byte, 4)
		if _, err := io.ReadFull(c, buf); err != nil || string(buf) != "pong" {
			t.Fatalf("read %q, %v", buf, err)
		}
		if d := since(start); d != testRTT {
			t.Errorf("response after %v", d)
		}
		c.Close()
		far.Close()
		settle()
	})
}

func TestDelayPipelines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		c := Delay(near, testRTT)
		go io.Copy(far, far)
		start := time.Now()
		var sent bytes.Buffer
		random := rand.New(rand.NewPCG(1, 2))
		for range 500 {
			b := make([]byte, 1+random.IntN(30_000))
			for i := range b {
				b[i] = byte(random.Uint32())
			}
			sent.Write(b)
			if _, err := c.Write(b); err != nil {
				t.Fatal(err)
			}
		}
		got := make([]byte, sent.Len())
		if _, err := io.ReadFull(c, got); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, sent.Bytes()) {
			t.Error("bytes changed")
		}
		if d := since(start); d != testRTT {
			t.Errorf("%d bytes took %v", len(got), d)
		}
		c.Close()
		far.Close()
		settle()
	})
}

func TestDelayBoundsWhatIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		c := Delay(near, testRTT)
		c.SetWriteDeadline(time.Now().Add(time.Hour))
		n, err := c.Write(make([]byte, delayBuffer+200_000)) // the peer does not read the data
		if !errors.Is(err, os.ErrDeadlineExceeded) || n < delayBuffer || n > delayBuffer+128<<10 {
			t.Errorf("Write took %d bytes, %v", n, err)
		}
		far.Close()
		c.Close()
		settle()
	})
}

func TestDelayDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		c := Delay(near, testRTT)
		start := time.Now()
		c.SetReadDeadline(start.Add(time.Second))
		_, err := c.Read(make([]byte, 1))
		var timeout net.Error
		if !errors.As(err, &timeout) || !timeout.Timeout() || since(start) != time.Second {
			t.Fatalf("Read gave %v after %v", err, since(start))
		}
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("a passed deadline was lost: %v", err)
		}
		// A deadline in the past wakes a blocked call; net/http uses such deadlines.
		c.SetReadDeadline(time.Time{})
		go func() {
			synctest.Wait()
			c.SetReadDeadline(time.Unix(1, 0))
		}()
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("Read gave %v", err)
		}
		// Without a deadline, data flows.
		c.SetDeadline(time.Time{})
		go far.Write([]byte("x"))
		if _, err := c.Read(make([]byte, 1)); err != nil {
			t.Error(err)
		}
		c.Close()
		far.Close()
		settle()
	})
}

func TestDelayClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		c := Delay(near, testRTT)
		blocked := make(chan error)
		go func() {
			_, err := c.Read(make([]byte, 1))
			blocked <- err
		}()
		c.Write([]byte("last words"))
		synctest.Wait()
		start := time.Now()
		if err := c.Close(); err != nil || since(start) != 0 {
			t.Errorf("Close gave %v after %v", err, since(start))
		}
		if err := <-blocked; !errors.Is(err, net.ErrClosed) {
			t.Errorf("Read gave %v", err)
		}
		if _, err := c.Write([]byte("more")); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Write gave %v", err)
		}
		if err := c.Close(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("second Close gave %v", err)
		}
		got, err := io.ReadAll(far)
		if string(got) != "last words" || err != nil || since(start) != testRTT/2 {
			t.Errorf("the peer read %q, %v after %v", got, err, since(start))
		}
		far.Close()
		settle()
	})
}

func TestDelayPeerCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		c := Delay(near, testRTT)
		start := time.Now()
		far.Write([]byte("bye"))
		far.Close()
		got, err := io.ReadAll(c)
		if string(got) != "bye" || err != nil || since(start) != testRTT/2 {
			t.Errorf("read %q, %v after %v", got, err, since(start))
		}
		c.Close()
		settle()
	})
}

// A pipeListener accepts the far ends of pipes.
type pipeListener chan net.Conn

func (l pipeListener) Accept() (net.Conn, error) {
	c, ok := <-l
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}
func (l pipeListener) Close() error   { return nil }
func (l pipeListener) Addr() net.Addr { return &net.TCPAddr{} }

// TestDelayCostsOfHTTP2 counts round trips by a fake clock. TLS 1.3 takes one, a request takes
// one, and so do a hundred concurrent requests.
func TestDelayCostsOfHTTP2(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ca, err := NewCA() // make it in the bubble, so that its dates fit the fake clock
		if err != nil {
			t.Fatal(err)
		}
		cert, err := ca.Certificate("rdap.example")
		if err != nil {
			t.Fatal(err)
		}
		listener := make(pipeListener)
		server := &http.Server{
			Handler:   http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.URL.Path) }),
			TLSConfig: &tls.Config{Certificates: []tls.Certificate{cert}},
		}
		go server.ServeTLS(listener, "", "")
		transport := &http.Transport{
			DialContext: func(context.Context, string, string) (net.Conn, error) {
				near, far := net.Pipe()
				listener <- far
				return Delay(near, testRTT), nil
			},
			TLSClientConfig:   &tls.Config{RootCAs: ca.Pool()},
			ForceAttemptHTTP2: true,
		}
		client := &http.Client{Transport: transport}
		ask := func() {
			resp, err := client.Get("https://rdap.example/domain/dom1.com")
			if err != nil {
				t.Error(err)
				return
			}
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		rounds := func(f func()) float64 {
			start := time.Now()
			f()
			return float64(since(start)) / float64(testRTT)
		}
		if n := rounds(ask); n != 2 {
			t.Errorf("handshake and first request took %v round trips", n)
		}
		if n := rounds(ask); n != 1 {
			t.Errorf("a request took %v round trips", n)
		}
		many := func() {
			var wg sync.WaitGroup
			for range 100 {
				wg.Go(ask)
			}
			wg.Wait()
		}
		if n := rounds(many); n != 1 {
			t.Errorf("100 concurrent requests took %v round trips", n)
		}
		transport.CloseIdleConnections()
		close(listener)
		server.Close()
		settle()
	})
}

func TestServerRTT(t *testing.T) {
	s := Start(t, Config{RTT: 2 * time.Millisecond})
	client := s.Client()
	for range 20 {
		if resp, _ := get(t, client, s.URL()+"domain/dom1.com"); resp.StatusCode != 200 {
			t.Fatal(resp.Status)
		}
	}
	client.CloseIdleConnections()
	if n := s.Counts(); n.Connections != 1 || n.Requests != 20 {
		t.Errorf("counts %+v", n)
	}
}
