// Client is the reference for rdapq: a minimal Go program for one mode of connecting,
// without any policy. It looks up names and prints its measurements as JSON.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quic-go/quic-go/http3"
)

// options holds the values of the flags.
type options struct {
	url      string
	ca       string
	domains  int
	n, c     int
	gzip     bool
	http     string
	conns    int
	noReuse  bool
	resume   bool
	fastOpen bool
	early    bool
	prime    bool
}

// A report is the output of the client.
type report struct {
	Lookups int     `json:"lookups"`
	Failed  int     `json:"failed"`
	Error   string  `json:"error,omitempty"` // error of a failed lookup
	PrimeMS float64 `json:"prime_ms"`        // time of the priming requests, before the clock starts
	WallMS  float64 `json:"wall_ms"`
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("client: ")
	var o options
	flag.StringVar(&o.url, "url", "https://rdap.example/domain/dom%d.example", "`URL`; %d counts")
	flag.IntVar(&o.domains, "domains", 1000, "replace %d by numbers up to this `number`, then start again from 0")
	flag.StringVar(&o.ca, "ca", "", "`file` with the certificate authority")
	flag.IntVar(&o.n, "n", 3, "lookups")
	flag.IntVar(&o.c, "c", 1, "concurrent lookups")
	flag.StringVar(&o.http, "http", "2", "`version`: 1.1, 2 or 3")
	flag.IntVar(&o.conns, "conns", 1, "HTTP/2 connections; over HTTP/1.1 one per concurrent lookup")
	flag.BoolVar(&o.noReuse, "no-reuse", false, "open a connection per lookup")
	flag.BoolVar(&o.resume, "resume", false, "resume TLS sessions")
	flag.BoolVar(&o.fastOpen, "fast-open", false, "TCP Fast Open, with key shares small enough for it")
	flag.BoolVar(&o.early, "0rtt", false, "send HTTP/3 requests as 0-RTT data; needs -resume")
	flag.BoolVar(&o.gzip, "gzip", true, "request compressed responses")
	flag.BoolVar(&o.prime, "prime", false, "look up one name before the measurement, for a session ticket and a Fast Open cookie")
	flag.Parse()

	r, err := run(o)
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(r)
	}
	if err != nil {
		log.Fatal(err)
	}
	if r.Failed > 0 {
		os.Exit(1)
	}
}

func run(o options) (r report, err error) {
	conf, err := tlsConfig(o)
	if err != nil {
		return r, err
	}
	if o.prime {
		start := time.Now()
		rt, closeAll := newTransport(o, conf)
		err := lookup(rt, o, 0)
		time.Sleep(20 * time.Millisecond) // the ticket may arrive after the response
		closeAll()
		if err != nil {
			return r, err
		}
		r.PrimeMS = ms(time.Since(start))
	}
	rt, closeAll := newTransport(o, conf)
	defer closeAll()
	var next, failed atomic.Int64
	var failure atomic.Value
	var workers sync.WaitGroup
	start := time.Now()
	for range o.c {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < int64(o.n); i = next.Add(1) - 1 {
				if err := lookup(rt, o, int(i)); err != nil {
					failed.Add(1)
					failure.Store(err.Error())
				}
			}
		})
	}
	workers.Wait()
	r.WallMS = ms(time.Since(start))
	r.Lookups, r.Failed = o.n, int(failed.Load())
	r.Error, _ = failure.Load().(string)
	return r, nil
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func tlsConfig(o options) (*tls.Config, error) {
	pem, err := os.ReadFile(o.ca)
	if err != nil {
		return nil, err
	}
	c := &tls.Config{RootCAs: x509.NewCertPool()}
	if !c.RootCAs.AppendCertsFromPEM(pem) {
		return nil, errors.New("no certificate in " + o.ca)
	}
	if o.resume {
		c.ClientSessionCache = tls.NewLRUClientSessionCache(0)
	}
	if o.fastOpen {
		c.CurvePreferences = []tls.CurveID{tls.X25519, tls.CurveP256}
	}
	return c, nil
}

// lookup sends one request and reads the whole response.
func lookup(rt http.RoundTripper, o options, i int) error {
	method := http.MethodGet
	if o.early {
		method = http3.MethodGet0RTT
	}
	req, err := http.NewRequest(http.MethodGet, fmt.Sprintf(o.url, i%o.domains), nil)
	if err != nil {
		return err
	}
	req.Method = method
	req.Header.Set("Accept", "application/rdap+json")
	if o.gzip {
		req.Header.Set("Accept-Encoding", "gzip")
	}
	resp, err := rt.RoundTrip(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("status %s", resp.Status)
	}
	return nil
}
