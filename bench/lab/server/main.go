// Server serves the responses written by setup over HTTP/3, with session resumption and
// 0-RTT.
package main

import (
	"bytes"
	"compress/gzip"
	"crypto/tls"
	"flag"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("server: ")
	dir := flag.String("dir", "", "`directory` written by setup")
	addr := flag.String("addr", ":443", "`address` to listen on")
	streams := flag.Int64("streams", 100, "maximum concurrent `requests` per connection")
	flag.Parse()
	if err := serve(*dir, *addr, *streams); err != nil {
		log.Fatal(err)
	}
}

func serve(dir, addr string, streams int64) error {
	cert, err := tls.LoadX509KeyPair(filepath.Join(dir, "server.pem"), filepath.Join(dir, "server.key"))
	if err != nil {
		return err
	}
	answers, err := load(filepath.Join(dir, "www"))
	if err != nil {
		return err
	}
	pc, err := net.ListenPacket("udp", addr)
	if err != nil {
		return err
	}
	s := &http3.Server{
		Handler:    answers,
		TLSConfig:  http3.ConfigureTLSConfig(&tls.Config{Certificates: []tls.Certificate{cert}}),
		QUICConfig: &quic.Config{Allow0RTT: true, MaxIncomingStreams: streams},
	}
	return s.Serve(pc)
}

// An answer is a body in plain and compressed form.
type answer struct{ plain, gzipped []byte }

// answers maps paths to responses.
type answers map[string]answer

func load(www string) (answers, error) {
	all := make(answers)
	names, err := filepath.Glob(filepath.Join(www, "domain", "*"))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		body, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		if _, err := w.Write(body); err != nil {
			return nil, err
		}
		if err := w.Close(); err != nil {
			return nil, err
		}
		all[strings.TrimPrefix(name, www)] = answer{body, packed.Bytes()}
	}
	return all, nil
}

func (a answers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	found, ok := a[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	body := found.plain
	w.Header().Set("Content-Type", "application/rdap+json")
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		w.Header().Set("Content-Encoding", "gzip")
		body = found.gzipped
	}
	_, _ = w.Write(body) // the client may have closed the stream
}
