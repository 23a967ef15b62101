package main

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/rdapq/rdapq/client"
)

// A service answers lookups of domains. All callers share one client, and with it the
// connections and the rate limits.
type service struct {
	client  *client.Client
	tracer  trace.Tracer
	lookups *prometheus.CounterVec
}

// newService returns a service whose client has a configuration, to which newService adds
// a hook.
func newService(config client.Config, registry prometheus.Registerer, tracing trace.TracerProvider) (*service, error) {
	s := &service{
		tracer: tracing.Tracer("example/service"),
		lookups: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "lookups_total", Help: "Lookups by verdict, and by error code if there was no answer.",
		}, []string{"verdict", "code"}),
	}
	config.OnAttempt = s.traceAttempt
	var err error
	if s.client, err = client.New(config); err != nil {
		return nil, err
	}
	for _, c := range []prometheus.Collector{s.lookups, poolCollector{s.client}} {
		if err := registry.Register(c); err != nil {
			return nil, errors.Join(err, s.client.Close())
		}
	}
	return s, nil
}

// close lets lookups in progress complete until ctx ends.
func (s *service) close(ctx context.Context) error { return s.client.Shutdown(ctx) }

func (s *service) handler(metrics prometheus.Gatherer) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /domain/{name}", s.domain)
	mux.Handle("GET /metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{}))
	return mux
}

// A response is the body of the response to a caller.
type response struct {
	Name      string         `json:"name"`
	Verdict   client.Verdict `json:"verdict"`
	Registrar string         `json:"registrar,omitempty"`
	Expires   string         `json:"expires,omitempty"`
	Code      client.Code    `json:"code,omitempty"` // why there is no answer
	Error     string         `json:"error,omitempty"`
}

func (s *service) domain(w http.ResponseWriter, r *http.Request) {
	result, err := s.lookup(r.Context(), r.PathValue("name"))
	answer := response{Name: r.PathValue("name"), Verdict: client.VerdictInvalid}
	if result != nil {
		summary := result.Summary()
		answer.Verdict, answer.Registrar, answer.Expires = result.Verdict, summary.Registrar, summary.Expires
	}
	status := http.StatusOK
	if e, ok := errors.AsType[*client.Error](err); ok {
		answer.Code, answer.Error = e.Code, e.Message
		status = statusOf(e)
		if e.RetryAfter > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(e.RetryAfter.Seconds()))))
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer) // the caller may be gone
}

// statusOf returns the status for a caller whose lookup got no answer.
func statusOf(e *client.Error) int {
	switch {
	case errors.Is(e, client.CodeInvalid):
		return http.StatusBadRequest
	case errors.Is(e, client.CodeNoService):
		return http.StatusNotImplemented
	case errors.Is(e, client.CodeRateLimited):
		return http.StatusServiceUnavailable
	case errors.Is(e, client.CodeTimeout):
		return http.StatusGatewayTimeout
	}
	return http.StatusBadGateway
}

// lookup looks up a domain in a span of its own. The Result is nil if the name is invalid.
func (s *service) lookup(ctx context.Context, name string) (*client.Result, error) {
	ctx, span := s.tracer.Start(ctx, "lookup", trace.WithAttributes(attribute.String("rdap.query", name)))
	defer span.End()
	q, err := client.ParseAs(client.TypeDomain, name)
	if err != nil {
		s.count(span, client.VerdictInvalid, err)
		return nil, err
	}
	r, err := s.client.Lookup(ctx, q)
	span.SetAttributes(
		attribute.String("rdap.server", r.Server),
		attribute.Int("rdap.attempts", r.Attempts),
		attribute.Bool("rdap.shared", r.Shared),
	)
	s.count(span, r.Verdict, err)
	return r, err
}

func (s *service) count(span trace.Span, verdict client.Verdict, err error) {
	code := ""
	if e, ok := errors.AsType[*client.Error](err); ok {
		code = string(e.Code)
		span.SetStatus(codes.Error, code)
	}
	span.SetAttributes(attribute.String("rdap.verdict", string(verdict)))
	s.lookups.WithLabelValues(string(verdict), code).Inc()
}

// traceAttempt is client.Config.OnAttempt: the context is that of the lookup's caller, so
// the span becomes a child of the lookup's.
func (s *service) traceAttempt(ctx context.Context, a client.Attempt) {
	now := time.Now()
	_, span := s.tracer.Start(ctx, "request",
		trace.WithTimestamp(now.Add(-a.Trace.Total)), trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(
			attribute.String("url.full", a.URL),
			attribute.Int("http.response.status_code", a.Status),
			attribute.Int("http.request.resend_count", a.Number-1),
			attribute.String("network.peer.address", a.Trace.RemoteAddr),
			attribute.Bool("rdap.connection.reused", a.Trace.Reused),
			attribute.Int64("rdap.waited_ms", a.Waited.Milliseconds()),
		))
	if a.Code != "" {
		span.SetAttributes(attribute.String("error.type", string(a.Code)))
	}
	span.End(trace.WithTimestamp(now))
}
