package main

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/rdapq/rdapq/internal/rdaptest"
)

// registries holds the files that the IANA server of a script publishes.
type registries struct {
	mu       sync.Mutex
	services map[string][]rdaptest.Service
	maxAge   string
	bom      bool
}

// cmdIANA starts a server for data.iana.org, reached through a proxy. It publishes each
// SERVICE; a later call adds more. Examples are dns:zz=URL,URL, ipv4:192.0.2.0/24=URL,
// asn:64496-64499=URL and object-tags:TST=URL. The servers are on loopback addresses, so
// RDAPQ_ALLOW_PRIVATE is set. Other options are max-age=SECONDS and bom (files begin with a
// byte-order mark).
func cmdIANA(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("usage: iana [SERVICE...]")
	}
	w := worldOf(ts)
	if w.iana == nil {
		w.iana = &registries{services: make(map[string][]rdaptest.Service), maxAge: "86400"}
		s, err := rdaptest.New(rdaptest.Config{CA: w.ca, Names: []string{"data.iana.org"}, Handler: w.iana, Log: true})
		ts.Check(err)
		proxy := httptest.NewServer(&proxy{to: map[string]string{"data.iana.org:443": s.Addr()}})
		w.servers["IANA"] = s
		w.closers = append(w.closers, s.Close, proxy.Close)
		ts.Setenv("HTTPS_PROXY", proxy.URL)
		ts.Setenv("SSL_CERT_FILE", w.caFile)
		ts.Setenv("SSL_CERT_DIR", ts.MkAbs("no-certificates"))
		ts.Setenv("RDAPQ_ALLOW_PRIVATE", "true")
	}
	w.iana.mu.Lock()
	defer w.iana.mu.Unlock()
	for _, arg := range args {
		kind, rest, _ := strings.Cut(arg, ":")
		entry, urls, ok := strings.Cut(rest, "=")
		switch age, isAge := strings.CutPrefix(arg, "max-age="); {
		case isAge:
			w.iana.maxAge = age
		case arg == "bom":
			w.iana.bom = true
		case ok:
			w.iana.services[kind] = append(w.iana.services[kind], rdaptest.Service{Entries: []string{entry}, URLs: strings.Split(urls, ",")})
		default:
			ts.Fatalf("what is %s?", arg)
		}
	}
}

func (r *registries) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	kind := strings.TrimSuffix(path.Base(req.URL.Path), ".json")
	if path.Dir(req.URL.Path) != "/rdap" || filler[kind] == nil {
		http.NotFound(w, req)
		return
	}
	// The command would refuse a file with far fewer entries than the built-in copy.
	all := r.services[kind]
	for i := range 2000 {
		all = append(all, rdaptest.Service{Entries: []string{filler[kind](i)}, URLs: []string{"https://" + nobody + "/"}})
	}
	today := time.Now().UTC().Format(time.DateOnly) // a date later than that of the built-in copy
	body := bytes.Replace(rdaptest.Registry(kind, all), []byte("2026-03-14"), []byte(today), 1)
	if r.bom {
		body = append([]byte("\xef\xbb\xbf"), body...)
	}
	tag := fmt.Sprintf(`"%08x"`, crc32.ChecksumIEEE(body))
	w.Header().Set("ETag", tag)
	w.Header().Set("Cache-Control", "max-age="+r.maxAge)
	if req.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body) // the client may have closed the connection
}

// filler returns entries that no script queries.
var filler = map[string]func(i int) string{
	"dns":  func(i int) string { return fmt.Sprintf("filler%d", i) },
	"asn":  func(i int) string { return fmt.Sprint(4_200_000_000 + int64(i)) },
	"ipv4": func(i int) string { return fmt.Sprintf("100.%d.%d.0/24", 64+i/256, i%256) },
	"ipv6": func(i int) string {
		return netip.PrefixFrom(netip.AddrFrom16([16]byte{0xfd, 0, byte(i / 256), byte(i)}), 32).String()
	},
	"object-tags": func(i int) string { return fmt.Sprintf("FILLER%d", i) },
}
