package rdaptest

import (
	"crypto/tls"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
)

// get sends a GET request and returns the response and its body.
func get(t *testing.T, client *http.Client, url string) (*http.Response, string) {
	t.Helper()
	resp, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}

func TestCountsPerProtocol(t *testing.T) {
	for _, test := range []struct {
		name      string
		protocols Protocols
		want      string
	}{
		{"h1", H1Only, "http/1.1"},
		{"h2", H2Only, "h2"},
		{"both", H1AndH2, "h2"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := Start(t, Config{Protocols: test.protocols, Log: true})
			client := s.Client()
			for range 5 {
				resp, body := get(t, client, s.URL()+"domain/dom1.com")
				if resp.StatusCode != 200 || !json.Valid([]byte(body)) {
					t.Fatalf("status %d, body %q", resp.StatusCode, body)
				}
				if resp.TLS == nil {
					t.Fatal("no TLS")
				}
			}
			client.CloseIdleConnections()
			if err := s.AwaitOpen(t.Context(), 0); err != nil {
				t.Fatal(err)
			}
			get(t, client, s.URL()+"domain/free1.com")
			client.CloseIdleConnections()
			if err := s.AwaitOpen(t.Context(), 0); err != nil {
				t.Fatal(err)
			}
			n := s.Counts()
			if n.Connections != 2 || n.FullHandshakes != 1 || n.Resumed != 1 || n.FailedHandshakes != 0 ||
				n.Requests != 6 || n.Open != 0 || n.MaxOpen != 1 {
				t.Errorf("counts %+v", n)
			}
			if got := n.PerConn(); !slices.Equal(got, []int64{5, 1}) {
				t.Errorf("requests per connection %v", got)
			}
			if got := n.Conns[0].Protocol; got != test.want {
				t.Errorf("protocol %q, want %q", got, test.want)
			}
			if n.Conns[0].Resumed || !n.Conns[1].Resumed {
				t.Errorf("resumed: %+v", n.Conns)
			}
			log := s.Log()
			if len(log) != 6 || log[5].Conn != 2 || log[5].URI != "/domain/free1.com" {
				t.Errorf("log %+v", log)
			}
		})
	}
}

func TestH2OnlyRefusesOthers(t *testing.T) {
	s := Start(t, Config{Protocols: H2Only})
	_, err := tls.Dial("tcp", s.Addr(), &tls.Config{RootCAs: s.Pool(), NextProtos: []string{"http/1.1"}})
	if err == nil {
		t.Fatal("a handshake without h2 succeeded")
	}
	if err := s.AwaitOpen(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if n := s.Counts(); n.FailedHandshakes != 1 || n.Handshakes() != 0 {
		t.Errorf("counts %+v", n)
	}
}

func TestMaxStreams(t *testing.T) {
	s := Start(t, Config{Protocols: H2Only, MaxStreams: 3})
	release := make(chan struct{})
	s.On("/domain/*", Until(release))
	transport := s.Client().Transport.(*http.Transport)
	transport.HTTP2 = &http.HTTP2Config{StrictMaxConcurrentRequests: true} // waits for a stream
	conn, err := transport.NewClientConn(t.Context(), "https", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	send := func(path string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL()+path, nil)
		if err != nil {
			t.Error(err)
			return
		}
		resp, err := conn.RoundTrip(req)
		if err != nil {
			t.Error(err)
			return
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			t.Error(err)
		}
		resp.Body.Close()
	}
	send("help") // after this request, the client knows the limit
	var wg sync.WaitGroup
	for range 9 {
		wg.Go(func() { send("domain/dom1.com") })
	}
	if err := s.AwaitRequests(t.Context(), 1+3); err != nil {
		t.Fatal(err)
	}
	close(release)
	wg.Wait()
	if n := s.Counts(); n.Requests != 1+9 || len(n.Conns) != 1 || n.Conns[0].MaxInFlight != 3 || n.MaxInFlight != 3 {
		t.Errorf("counts %+v", n)
	}
}

func TestBodies(t *testing.T) {
	s := Start(t, Config{})
	client := s.Client()
	defer client.CloseIdleConnections()
	for path, want := range map[string]int{
		"domain/dom1.com":                   200,
		"some/base/domain/dom1.com":         200,
		"domain/free1.com":                  404,
		"domain/a%20b":                      400,
		"domain/2.0.192.in-addr.arpa":       200,
		"ip/192.0.2.7":                      200,
		"ip/192.0.2.0/24":                   200,
		"ip/2001:db8::1":                    200,
		"ip/192.0.2.300":                    400,
		"autnum/64500":                      200,
		"autnum/x":                          400,
		"entity/ABC-INV":                    200,
		"entity/FREE-INV":                   404,
		"nameserver/ns1.palmes-dns.example": 200,
		"help":                              200,
		"domains?name=a*":                   501,
		"else":                              404,
	} {
		resp, body := get(t, client, s.URL()+path)
		if resp.StatusCode != want {
			t.Errorf("%s: status %d, want %d", path, resp.StatusCode, want)
		}
		if got := resp.Header.Get("Content-Type"); got != rdapType {
			t.Errorf("%s: content type %q", path, got)
		}
		if !json.Valid([]byte(body)) || strings.Contains(body, "placeholder") {
			t.Errorf("%s: body %s", path, body)
		}
	}
}

func TestShapes(t *testing.T) {
	for shape, size := range map[Shape][2]int{Thin: {2500, 5000}, Thick: {3000, 6000}, Minimal: {200, 400}} {
		a := Invented{Shape: shape, Registrar: "https://rdap.palmes.example/"}.Answer(
			Question{Base: "https://rdap.com.example/", Class: "domain", Key: "Dom1.COM"})
		var v map[string]any
		if err := json.Unmarshal(a.Body, &v); err != nil {
			t.Fatalf("%s: %v\n%s", shape, err, a.Body)
		}
		if name, _ := v["ldhName"].(string); !strings.EqualFold(name, "dom1.com") {
			t.Errorf("%s: ldhName %q", shape, name)
		}
		if n := len(a.Body); n < size[0] || n > size[1] {
			t.Errorf("%s: %d bytes", shape, n)
		}
		if related := strings.Contains(string(a.Body), "https://rdap.palmes.example/domain/"); related != (shape != Minimal) {
			t.Errorf("%s: related link: %v", shape, related)
		}
	}
}
