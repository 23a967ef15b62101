package rdaptest

import (
	"io"
	"net/http"
	"testing"
	"testing/fstest"
)

func TestDir(t *testing.T) {
	dir := fstest.MapFS{
		"a.json": {Data: []byte(`{"objectClassName":"domain"}`)},
		"b.txt":  {},
	}
	s := Start(t, Config{Handler: Dir(dir, map[string]FileAnswer{"b.txt": {Status: 404, Type: "text/plain"}})})
	c := s.Client()
	defer c.CloseIdleConnections()
	for _, tt := range []struct {
		path, mediaType, body string
		status                int
	}{
		{"a.json/domain/x.example", rdapType, `{"objectClassName":"domain"}`, 200},
		{"a.json/domains?name=x*.example", rdapType, `{"objectClassName":"domain"}`, 200},
		{"b.txt/ip/192.0.2.0/24", "text/plain", "", 404},
		{"c.json/help", "text/plain; charset=utf-8", "404 page not found\n", 404},
	} {
		resp, err := c.Get(s.URL() + tt.path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != tt.status || string(body) != tt.body || resp.Header.Get("Content-Type") != tt.mediaType {
			t.Errorf("%s: %d, %s, %q, %v", tt.path, resp.StatusCode, resp.Header.Get("Content-Type"), body, err)
		}
	}
	if n := s.Counts().Requests; n != 4 {
		t.Errorf("%d requests counted", n)
	}
	resp, err := c.Do(mustRequest(t, http.MethodHead, s.URL()+"a.json/help"))
	if err != nil || resp.ContentLength != 28 {
		t.Errorf("HEAD: %v, %v", resp, err)
	}
}

func mustRequest(t *testing.T, method, url string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
