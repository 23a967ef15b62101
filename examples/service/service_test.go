package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/rdapqtest"
)

const callers = 200

// A fixture is a service in front of an RDAP server.
type fixture struct {
	rdap    *rdapqtest.Server
	handler http.Handler
	spans   *tracetest.InMemoryExporter
}

func start(t *testing.T, server *rdapqtest.Server, change func(*client.Config)) *fixture {
	t.Helper()
	for i := range callers {
		name := fmt.Sprintf("name%d.example", i)
		server.Set("domain/"+name, rdapqtest.Domain{Name: name, Registrar: "Invented Names"}.JSON())
	}
	config := server.Config()
	if change != nil {
		change(&config)
	}
	spans := tracetest.NewInMemoryExporter()
	registry := prometheus.NewRegistry()
	s, err := newService(config, registry, sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return &fixture{server, s.handler(registry), spans}
}

// get returns the status, the header and the body of a response of the service.
func (f *fixture) get(path string) (int, http.Header, string) {
	w := httptest.NewRecorder()
	f.handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w.Code, w.Header(), w.Body.String()
}

// ask looks up a domain for each caller, all at the same time.
func (f *fixture) ask(t *testing.T, name func(caller int) string, check func(status int, header http.Header, r response)) {
	t.Helper()
	var mu sync.Mutex
	var wg sync.WaitGroup
	for caller := range callers {
		wg.Go(func() {
			status, header, body := f.get("/domain/" + name(caller))
			mu.Lock()
			defer mu.Unlock()
			var r response
			if err := json.Unmarshal([]byte(body), &r); err != nil {
				t.Errorf("%s: %v", body, err)
			}
			check(status, header, r)
		})
	}
	wg.Wait()
}

// TestCallers has all callers look up different names: there are never more requests at
// the server than its limit, and they share connections.
func TestCallers(t *testing.T) {
	f := start(t, rdapqtest.NewServer(t, nil), func(c *client.Config) { c.PerHost = 8 })
	f.rdap.SetFaults("*", rdapqtest.Delay(time.Millisecond)) // so that requests overlap
	f.ask(t, func(caller int) string { return fmt.Sprintf("name%d.example", caller) }, func(status int, _ http.Header, r response) {
		if status != http.StatusOK || r.Verdict != client.VerdictRegistered || r.Registrar != "Invented Names" {
			t.Errorf("%d %+v", status, r)
		}
	})
	if n := f.rdap.Counts(); n.Requests != callers || n.MaxInFlight > 8 || n.MaxInFlight < 2 || n.Connections > 4 {
		t.Errorf("%+v", n)
	}
	_, _, metrics := f.get("/metrics")
	for _, want := range []string{
		`lookups_total{code="",verdict="registered"} 200`,
		fmt.Sprintf(`rdap_requests_total{origin=%q} 200`, strings.TrimSuffix(f.rdap.URL(), "/")),
		fmt.Sprintf(`rdap_requests_in_flight{origin=%q} 0`, strings.TrimSuffix(f.rdap.URL(), "/")),
	} {
		if !strings.Contains(metrics, want+"\n") {
			t.Errorf("no %s in\n%s", want, metrics)
		}
	}
}

// TestSameName has all callers look up one name: they share one request. It runs in a
// bubble, where Wait returns when all of them wait for that request.
func TestSameName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, rdapqtest.NewMemoryServer(t, nil), nil)
		release := make(chan struct{})
		f.rdap.SetFaults("*", rdapqtest.Hold(release))
		go func() {
			synctest.Wait()
			close(release)
		}()
		f.ask(t, func(int) string { return "name1.example" }, func(status int, _ http.Header, r response) {
			if status != http.StatusOK || r.Verdict != client.VerdictRegistered {
				t.Errorf("%d %+v", status, r)
			}
		})
		shared := 0
		for _, span := range f.spans.GetSpans() {
			if value(span, "rdap.shared").AsBool() {
				shared++
			}
		}
		if n := f.rdap.Counts(); n.Requests != 1 || shared != callers-1 {
			t.Errorf("%+v, %d shared", n, shared)
		}
	})
}

// TestRateLimited has all callers look up different names at a server that refuses all
// requests: few are sent, and the other callers learn at once when to come back.
func TestRateLimited(t *testing.T) {
	f := start(t, rdapqtest.NewServer(t, nil), func(c *client.Config) { c.MaxWait = time.Second })
	f.rdap.SetFaults("*", rdapqtest.RateLimit(0, time.Minute))
	f.ask(t, func(caller int) string { return fmt.Sprintf("name%d.example", caller) }, func(status int, header http.Header, r response) {
		if status != http.StatusServiceUnavailable || r.Code != client.CodeRateLimited || header.Get("Retry-After") == "" {
			t.Errorf("%d %+v, Retry-After %q", status, r, header.Get("Retry-After"))
		}
	})
	if n := f.rdap.Counts(); n.Requests > 10 {
		t.Errorf("%+v", n)
	}
}

// TestSpans checks that the span of a request belongs to that of its lookup.
func TestSpans(t *testing.T) {
	f := start(t, rdapqtest.NewServer(t, nil), nil)
	f.rdap.SetFaults("*", rdapqtest.First(1, rdapqtest.CloseConnection()))
	for path, want := range map[string]int{"/domain/name1.example": http.StatusOK, "/domain/not%20a%20name": http.StatusBadRequest, "/domain/free.example": http.StatusOK} {
		if status, _, body := f.get(path); status != want {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	lookups := make(map[string]tracetest.SpanStub) // by their id
	for _, span := range f.spans.GetSpans() {
		if span.Name == "lookup" {
			lookups[span.SpanContext.SpanID().String()] = span
		}
	}
	if len(lookups) != 3 {
		t.Errorf("%d spans of lookups", len(lookups))
	}
	got := make(map[string]int)
	for _, span := range f.spans.GetSpans() {
		if span.Name != "request" {
			continue
		}
		parent, ok := lookups[span.Parent.SpanID().String()]
		if !ok {
			t.Errorf("a request without a lookup: %+v", span)
			continue
		}
		got[value(parent, "rdap.query").AsString()]++
		if value(span, "url.full").AsString() != f.rdap.URL()+"domain/"+value(parent, "rdap.query").AsString() {
			t.Errorf("%+v", span.Attributes)
		}
	}
	if got["name1.example"]+got["free.example"] < 2 || got["not a name"] != 0 {
		t.Errorf("requests by query: %v", got)
	}
}

// value returns an attribute of a span.
func value(span tracetest.SpanStub, key attribute.Key) attribute.Value {
	for _, a := range span.Attributes {
		if a.Key == key {
			return a.Value
		}
	}
	return attribute.Value{}
}
