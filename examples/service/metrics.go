package main

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/rdapq/rdapq/client"
)

// A poolCollector reports the statistics of a client's connections when Prometheus reads
// them: nothing is counted twice, and nothing per request.
type poolCollector struct{ client *client.Client }

var (
	requests = prometheus.NewDesc("rdap_requests_total", "Requests with a response.", []string{"origin"}, nil)
	failed   = prometheus.NewDesc("rdap_requests_failed_total", "Requests that ended in an error.", []string{"origin"}, nil)
	opened   = prometheus.NewDesc("rdap_connections_total", "Connections opened.", []string{"origin"}, nil)
	open     = prometheus.NewDesc("rdap_connections_open", "Connections open now.", []string{"origin"}, nil)
	inFlight = prometheus.NewDesc("rdap_requests_in_flight", "Requests on a connection now.", []string{"origin"}, nil)
	waiting  = prometheus.NewDesc("rdap_requests_waiting", "Requests that wait for a connection now.", []string{"origin"}, nil)
	shakes   = prometheus.NewDesc("rdap_handshakes_total", "TLS handshakes.", []string{"origin", "kind"}, nil)
)

// Describe implements [prometheus.Collector].
func (c poolCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{requests, failed, opened, open, inFlight, waiting, shakes} {
		ch <- d
	}
}

// Collect implements [prometheus.Collector].
func (c poolCollector) Collect(ch chan<- prometheus.Metric) {
	stats, ok := c.client.Stats()
	if !ok {
		return // another transport than a Pool
	}
	for _, o := range stats.Origins {
		count := func(d *prometheus.Desc, n int64, labels ...string) {
			ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), append([]string{o.Origin}, labels...)...)
		}
		gauge := func(d *prometheus.Desc, n int64) {
			ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(n), o.Origin)
		}
		count(requests, o.Requests)
		count(failed, o.Failed)
		count(opened, o.Connections)
		gauge(open, o.Open)
		gauge(inFlight, o.InFlight)
		gauge(waiting, o.Waiting)
		count(shakes, o.Handshakes.Full, "full")
		count(shakes, o.Handshakes.Resumed, "resumed")
		count(shakes, o.Handshakes.Avoided, "avoided")
	}
}
