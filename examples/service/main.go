// Command service is a lookup service: HTTP in front of one client for all callers, with
// Prometheus metrics at /metrics and an OpenTelemetry span for each lookup and each request
// to a server.
//
//	go run . -listen 127.0.0.1:8080
//	curl http://127.0.0.1:8080/domain/example.com
package main

import (
	"context"
	"errors"
	"flag"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/rdapq/rdapq/client"
)

// maxWait limits how long a caller waits for a rate-limited server.
const maxWait = 5 * time.Second

func main() {
	listen := flag.String("listen", "127.0.0.1:8080", "address to listen on")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *listen); err != nil {
		slog.Error("service", "err", err)
		os.Exit(1)
	}
}

// run serves until ctx ends, then lets requests in progress complete.
func run(ctx context.Context, listen string) (err error) {
	exporter, err := stdouttrace.New() // a program in production exports to a collector
	if err != nil {
		return err
	}
	tracing := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter))
	defer func() { err = errors.Join(err, tracing.Shutdown(context.WithoutCancel(ctx))) }()

	registry := prometheus.NewRegistry()
	s, err := newService(client.Config{MaxWait: maxWait, UserAgent: "example-service/1.0"}, registry, tracing)
	if err != nil {
		return err
	}
	server := &http.Server{Addr: listen, Handler: s.handler(registry), ReadHeaderTimeout: 10 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- server.ListenAndServe() }()
	select {
	case err := <-failed:
		return errors.Join(err, s.close(context.Background()))
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	return errors.Join(server.Shutdown(grace), s.close(grace))
}
