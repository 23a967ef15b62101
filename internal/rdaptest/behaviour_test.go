package rdaptest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// each runs a test against HTTP/1.1 and HTTP/2.
func each(t *testing.T, config Config, test func(t *testing.T, s *Server, client *http.Client)) {
	for name, protocols := range map[string]Protocols{"h1": H1Only, "h2": H2Only} {
		t.Run(name, func(t *testing.T) {
			config := config
			config.Protocols = protocols
			s := Start(t, config)
			client := s.Client()
			t.Cleanup(client.CloseIdleConnections)
			test(t, s, client)
		})
	}
}

func TestStatusesAndBodies(t *testing.T) {
	each(t, Config{}, func(t *testing.T, s *Server, client *http.Client) {
		s.On("/domain/missing.com", Status(404))
		s.On("domain/empty.com", Status(404), NoBody())
		s.On("/domain/html.com", Status(403), Body("text/html; charset=utf-8", "<h1>no</h1>"))
		s.On("/domain/busy.com", Status(429), RetryAfter("7"))
		s.On("/domain/moved.com", Redirect(301, "https://rdap.example/domain/moved.com"))
		s.On("/domain/typed.com", ContentType("application/json"))
		s.On("/domain/own.com", JSON(`{"ldhName":"own.com"}`))
		s.On("/domain/slow.com", Latency(time.Millisecond), Drip(700, 0))
		for _, test := range []struct {
			path, contentType, body string
			status                  int
		}{
			{"domain/missing.com", rdapType, `"errorCode":404`, 404},
			{"domain/empty.com", "", "", 404},
			{"domain/html.com", "text/html; charset=utf-8", "<h1>no</h1>", 403},
			{"domain/busy.com", rdapType, `"errorCode":429`, 429},
			{"domain/moved.com", "", "", 301},
			{"domain/typed.com", "application/json", `"ldhName":"TYPED.COM"`, 200},
			{"domain/own.com", rdapType, `{"ldhName":"own.com"}`, 200},
			{"domain/slow.com", rdapType, `"ldhName":"SLOW.COM"`, 200},
		} {
			resp, body := get(t, client, s.URL()+test.path)
			if resp.StatusCode != test.status || resp.Header.Get("Content-Type") != test.contentType ||
				!strings.Contains(body, test.body) || test.body == "" && body != "" {
				t.Errorf("%s: status %d, type %q, body %q", test.path, resp.StatusCode, resp.Header.Get("Content-Type"), body)
			}
			if test.status == 429 && resp.Header.Get("Retry-After") != "7" {
				t.Error("no Retry-After")
			}
			if test.status == 301 && resp.Header.Get("Location") == "" {
				t.Error("no Location")
			}
		}
		if n := s.Counts(); n.Connections != 1 {
			t.Errorf("%d connections", n.Connections)
		}
	})
}

func TestPatterns(t *testing.T) {
	s := Start(t, Config{})
	client := s.Client()
	t.Cleanup(client.CloseIdleConnections)
	status := func(path string) int {
		resp, _ := get(t, client, s.URL()+path)
		return resp.StatusCode
	}
	s.On("/domain/*", Status(500))
	s.On("/domain/b*", Status(503))
	s.On("/domain/best.com", Status(200))
	for path, want := range map[string]int{"help": 200, "domain/a.com": 500, "domain/b.com": 503, "domain/best.com": 200} {
		if got := status(path); got != want {
			t.Errorf("%s: status %d, want %d", path, got, want)
		}
	}
	s.On("/domain/b*")
	if got := status("domain/b.com"); got != 500 {
		t.Errorf("after the end of a rule: %d", got)
	}
	s.Clear()
	s.On("*", First(2, Status(503)), Every(5, Status(429)))
	var got []int
	for range 6 {
		got = append(got, status("domain/a.com"))
	}
	if want := []int{503, 503, 200, 200, 429, 200}; !slices.Equal(got, want) {
		t.Errorf("statuses %v, want %v", got, want)
	}
	s.On("*", After(2, Status(503)))
	got = nil
	for range 4 {
		got = append(got, status("domain/a.com"))
	}
	if want := []int{200, 200, 503, 503}; !slices.Equal(got, want) {
		t.Errorf("statuses %v, want %v", got, want)
	}
}

// TestQuota applies quotas on the clock of a bubble.
func TestQuota(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		quota, none := Quota(2, time.Minute), Quota(0, 2500*time.Millisecond)
		response := func(b Behaviour) string {
			var p plan
			b(&p)
			return fmt.Sprintf("%d %s", p.status, p.header.Get("Retry-After"))
		}
		var got []string
		for _, pause := range []time.Duration{0, 10 * time.Second, 500 * time.Millisecond, 49500 * time.Millisecond, 0, 0} {
			time.Sleep(pause)
			got = append(got, response(quota))
		}
		if want := []string{"0 ", "0 ", "429 50", "0 ", "0 ", "429 60"}; !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
		for range 2 {
			if got := response(none); got != "429 3" {
				t.Error(got)
			}
			time.Sleep(time.Second)
		}
	})
}

func TestGzip(t *testing.T) {
	each(t, Config{Gzip: true}, func(t *testing.T, s *Server, client *http.Client) {
		resp, body := get(t, client, s.URL()+"domain/dom1.com")
		if !resp.Uncompressed || !strings.Contains(body, "DOM1.COM") {
			t.Errorf("uncompressed by the client: %v, body %q", resp.Uncompressed, body)
		}
		s.On("*", Size(20<<20))
		before := s.Counts().BytesOut
		_, body = get(t, client, s.URL()+"domain/dom1.com")
		if sent := s.Counts().BytesOut - before; len(body) != 20<<20 || sent > 1<<20 {
			t.Errorf("%d bytes in %d", len(body), sent)
		}
	})
}

func TestSizeAndEndless(t *testing.T) {
	each(t, Config{}, func(t *testing.T, s *Server, client *http.Client) {
		s.On("/domain/big.com", Size(3<<20))
		s.On("/domain/endless.com", Endless())
		resp, body := get(t, client, s.URL()+"domain/big.com")
		if len(body) != 3<<20 || resp.ContentLength != 3<<20 || !strings.HasSuffix(body, padTail) {
			t.Errorf("%d bytes, Content-Length %d", len(body), resp.ContentLength)
		}
		resp, err := client.Get(s.URL() + "domain/endless.com")
		if err != nil {
			t.Fatal(err)
		}
		if n, err := io.CopyN(io.Discard, resp.Body, 8<<20); err != nil {
			t.Errorf("ended after %d bytes: %v", n, err)
		}
		resp.Body.Close()
	})
}

func TestCut(t *testing.T) {
	each(t, Config{}, func(t *testing.T, s *Server, client *http.Client) {
		s.On("*", Cut(1000))
		resp, err := client.Get(s.URL() + "domain/dom1.com")
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err == nil || len(body) != 1000 || resp.ContentLength <= 1000 {
			t.Errorf("%d bytes of %d, %v", len(body), resp.ContentLength, err)
		}
	})
}

func TestHangUpAndReset(t *testing.T) {
	each(t, Config{}, func(t *testing.T, s *Server, client *http.Client) {
		for name, b := range map[string]Behaviour{"hang up": HangUp(), "reset": ResetConn(), "stream": ResetStream()} {
			s.On("*", b)
			resp, err := client.Get(s.URL() + "domain/dom1.com")
			if err == nil {
				resp.Body.Close()
				t.Errorf("%s: status %d", name, resp.StatusCode)
			}
		}
	})
}

func TestJunk(t *testing.T) {
	s := Start(t, Config{Protocols: H1Only})
	s.On("*", Junk("HTTP/1.1 2"))
	client := s.Client()
	_, err := client.Get(s.URL() + "domain/dom1.com")
	if err == nil || !strings.Contains(err.Error(), "malformed") {
		t.Errorf("half a status line: %v", err)
	}
}

func TestReusedHangUp(t *testing.T) {
	// net/http retries a GET when a reused connection closes without a response.
	s := Start(t, Config{Protocols: H1Only})
	client := s.Client()
	t.Cleanup(client.CloseIdleConnections)
	s.On("*", Reused(HangUp()))
	for range 4 {
		get(t, client, s.URL()+"domain/dom1.com")
	}
	if got := s.Counts().PerConn(); !slices.Equal(got, []int64{2, 2, 2, 1}) {
		t.Errorf("requests per connection %v", got)
	}
}

func TestHangEndsWithServer(t *testing.T) {
	each(t, Config{}, func(t *testing.T, s *Server, client *http.Client) {
		s.On("*", Hang())
		done := make(chan error)
		go func() {
			resp, err := client.Get(s.URL() + "domain/dom1.com")
			if err == nil {
				resp.Body.Close()
			}
			done <- err
		}()
		if err := s.AwaitRequests(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		s.Close()
		if err := <-done; err == nil {
			t.Error("unexpected response")
		}
	})
}

func TestCloseAnnounced(t *testing.T) {
	each(t, Config{}, func(t *testing.T, s *Server, client *http.Client) {
		s.On("*", Close())
		for range 3 {
			get(t, client, s.URL()+"domain/dom1.com")
			if err := s.AwaitOpen(t.Context(), 0); err != nil { // the client closes the connection on request
				t.Fatal(err)
			}
		}
		n := s.Counts()
		if n.Connections != 3 || n.FullHandshakes != 1 || n.Resumed != 2 {
			t.Errorf("counts %+v", n)
		}
		if away := n.GoAways > 0; away != (n.Conns[0].Protocol == "h2") {
			t.Errorf("%d GOAWAYs over %s", n.GoAways, n.Conns[0].Protocol)
		}
	})
}

func TestMethodAndHandler(t *testing.T) {
	s := Start(t, Config{})
	client := s.Client()
	t.Cleanup(client.CloseIdleConnections)
	resp, err := client.Post(s.URL()+"domain/dom1.com", "text/plain", strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != 405 {
		t.Errorf("POST: status %d", resp.StatusCode)
	}
	resp, err = client.Head(s.URL() + "domain/dom1.com")
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if resp.StatusCode != 200 || resp.ContentLength < 1000 || len(body) != 0 || err != nil {
		t.Errorf("HEAD: status %d, length %d, %d bytes, %v", resp.StatusCode, resp.ContentLength, len(body), err)
	}

	own := Start(t, Config{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.TLS == nil {
			t.Error("no TLS state")
		}
		io.WriteString(w, "mine")
	})})
	ownClient := own.Client()
	t.Cleanup(ownClient.CloseIdleConnections)
	if _, body := get(t, ownClient, own.URL()); body != "mine" || own.Counts().Requests != 1 {
		t.Errorf("body %q, counts %+v", body, own.Counts())
	}
}

func TestCertificates(t *testing.T) {
	ca, err := NewCA()
	if err != nil {
		t.Fatal(err)
	}
	if block := ca.PEM(); !bytes.HasPrefix(block, []byte("-----BEGIN CERTIFICATE-----")) {
		t.Errorf("PEM %s", block)
	}
	expired, err := ca.ExpiredCertificate("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	wrong, err := ca.WrongHostCertificate()
	if err != nil {
		t.Fatal(err)
	}
	for want, config := range map[string]Config{
		"expired":           {CA: ca, Certificate: &expired},
		"127.0.0.1":         {CA: ca, Certificate: &wrong},
		"unknown authority": {},
		"protocol version":  {CA: ca, MaxTLS: 0x0302, MinTLS: 0x0301},
	} {
		s := Start(t, config)
		client := s.Client()
		client.Transport.(*http.Transport).TLSClientConfig.RootCAs = ca.Pool()
		_, err := client.Get(s.URL() + "help")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
		if err := s.AwaitOpen(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		// In TLS 1.3 the server finishes before the client rejects the
		// certificate.
		if n := s.Counts(); n.Requests != 0 || n.Handshakes()+n.FailedHandshakes != 1 {
			t.Errorf("%s: counts %+v", want, n)
		}
	}
}

func TestResumption(t *testing.T) {
	s := Start(t, Config{Protocols: H1Only})
	s.On("*", Close())
	client := s.Client()
	ask := func() error {
		resp, err := client.Get(s.URL() + "domain/dom1.com")
		if err != nil {
			return err
		}
		io.Copy(io.Discard, resp.Body)
		return resp.Body.Close()
	}
	want := func(full, resumed, failed int64) {
		t.Helper()
		if n := s.Counts(); n.FullHandshakes != full || n.Resumed != resumed || n.FailedHandshakes != failed {
			t.Errorf("full %d, resumed %d, failed %d; want %d, %d, %d", n.FullHandshakes, n.Resumed, n.FailedHandshakes, full, resumed, failed)
		}
	}
	for range 4 {
		if err := ask(); err != nil {
			t.Fatal(err)
		}
	}
	want(1, 3, 0)
	s.DropTickets()
	for range 2 {
		if err := ask(); err != nil {
			t.Fatal(err)
		}
	}
	want(2, 4, 0)
	s.FailResumption(true)
	if err := ask(); err == nil {
		t.Error("unexpected resumption")
	}
	if err := s.AwaitOpen(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	want(2, 4, 1)
	s.FailResumption(false)
	if err := ask(); err != nil && !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}
