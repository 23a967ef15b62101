package rdaptest

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write testdata/domains.txt anew")

const domainsFile = "../../testdata/domains.txt"

// demoLines returns the lines of domains.txt.
func demoLines() []string {
	lines := []string{"# Names, addresses and AS numbers that the demonstration's servers are asked for, all invented.", "courbu.re", "nic.re", "copacabana.re"}
	for i := range 72 {
		for _, tld := range demoTLDs {
			lines = append(lines, demoName(tld, i))
		}
		if i%9 == 4 { // these names are not registered
			for _, tld := range demoTLDs {
				lines = append(lines, demoName(tld, demoSize+i))
			}
		}
	}
	lines = append(lines, "", "# Addresses.",
		"192.0.2.1", "192.0.2.200", "198.18.4.0/24", "198.18.200.7", "198.51.100.33", "203.0.113.5", "203.0.113.250",
		"2001:db8:1::1", "2001:db8:7000::1", "2001:db8:8000:5::/64", "2001:db8:f000::1")
	lines = append(lines, "", "# AS numbers.",
		"AS64496", "AS64500", "AS64505", "AS64511", "AS65536", "AS65540", "AS65550")
	return lines
}

func demoClient(t *testing.T, d *Demo) *http.Client {
	t.Helper()
	transport := &http.Transport{
		DialContext:         d.DialContext,
		TLSClientConfig:     &tls.Config{RootCAs: d.CAPool()},
		ForceAttemptHTTP2:   true,
		MaxIdleConnsPerHost: 4,
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// registryOf reads a bootstrap file as a client would.
func registryOf(t *testing.T, d *Demo, kind string) map[string]string {
	t.Helper()
	var file struct {
		Version, Publication string
		Services             [][][]string
	}
	if err := json.Unmarshal(d.Registries()[kind], &file); err != nil {
		t.Fatal(err)
	}
	if _, err := time.Parse(time.RFC3339, file.Publication); err != nil || file.Version != "1.0" {
		t.Errorf("%s: version %q, publication %q", kind, file.Version, file.Publication)
	}
	out := make(map[string]string)
	for _, s := range file.Services {
		if kind == "object-tags" {
			s = s[1:]
		}
		for _, entry := range s[0] {
			out[entry] = s[1][0]
		}
	}
	return out
}

// demoURL returns the URL for a line, as the registries determine it.
func demoURL(t *testing.T, dns, ip, asn map[string]string, line string) (base, class, key string) {
	t.Helper()
	if number, ok := strings.CutPrefix(line, "AS"); ok {
		n, _ := strconv.Atoi(number)
		for entry, url := range asn {
			var from, to int
			fmt.Sscanf(entry, "%d-%d", &from, &to)
			if from <= n && n <= to {
				return url, "autnum", number
			}
		}
	}
	if p, ok := parsePrefix(line); ok {
		for entry, url := range ip {
			if netip.MustParsePrefix(entry).Contains(p.Addr()) {
				return url, "ip", line
			}
		}
	}
	url := dns[line[strings.LastIndexByte(line, '.')+1:]]
	if url == "" {
		t.Fatalf("no server for %q", line)
	}
	return url, "domain", line
}

func TestDomainsFile(t *testing.T) {
	want := strings.Join(demoLines(), "\n") + "\n"
	if *update {
		if err := os.WriteFile(domainsFile, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(domainsFile)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Fatal("testdata/domains.txt does not match the demo data; go test -run TestDomainsFile -update writes it")
	}
	d, err := NewDemo(0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	client := demoClient(t, d)
	dns, asn := registryOf(t, d, "dns"), registryOf(t, d, "asn")
	ip := registryOf(t, d, "ipv4")
	for entry, url := range registryOf(t, d, "ipv6") {
		ip[entry] = url
	}
	statuses := make(map[int]int)
	seen := make(map[string]bool)
	for line := range strings.Lines(string(got)) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if seen[line] {
			t.Errorf("duplicate %s", line)
		}
		seen[line] = true
		base, class, key := demoURL(t, dns, ip, asn, line)
		resp, body := get(t, client, base+class+"/"+key)
		host, _, _ := strings.Cut(strings.TrimPrefix(base, "https://"), "/")
		want := http.StatusNotFound
		if d.Server(host).config.Source.(*catalogue).knows(Question{Class: class, Key: key}) {
			want = http.StatusOK
		}
		if resp.StatusCode != want || !json.Valid([]byte(body)) {
			t.Errorf("%s: status %d, want %d; body %s", line, resp.StatusCode, want, body)
		}
		statuses[resp.StatusCode]++
	}
	if n := len(seen); n < 520 || statuses[200] < 500 || statuses[404] < 50 {
		t.Errorf("%d lines, by status %v", n, statuses)
	}
	total, servers := d.Counts()
	if total.Requests != int64(len(seen)) {
		t.Errorf("%d requests for %d lines", total.Requests, len(seen))
	}
	for name, n := range servers {
		if n.Connections > 1 {
			t.Errorf("%s: %d connections for sequential lookups", name, n.Connections)
		}
	}
	if n := servers["rdap.re.example"]; n.Connections != 1 || n.FullHandshakes != 1 {
		t.Errorf("rdap.re.example: %+v", n)
	}
}

// TestDemoAnswersTogether checks that the targets of links exist.
func TestDemoAnswersTogether(t *testing.T) {
	d, err := NewDemo(0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	client := demoClient(t, d)
	name := demoName("com", 3)
	_, body := get(t, client, "https://rdap.com.example/com/v1/domain/"+name)
	var object struct {
		Links []struct{ Rel, Href string }
	}
	if err := json.Unmarshal([]byte(body), &object); err != nil {
		t.Fatal(err)
	}
	related := ""
	for _, l := range object.Links {
		if l.Rel == "related" {
			related = l.Href
		}
	}
	resp, body := get(t, client, related)
	if resp.StatusCode != 200 || !strings.Contains(body, `"registrant"`) {
		t.Errorf("%s: status %d, %s", related, resp.StatusCode, body)
	}
	for url, want := range map[string]int{
		"https://rdap.re.example/domain/courbu.re":                                200,
		"https://rdap.re.example/domain/nowhere.re":                               404,
		"https://rdap.re.example/domain/a%20b":                                    400,
		"https://rdap.re.example/help":                                            200,
		"https://rdap.nic.example/nameserver/ns1.palmes-dns.example":              200,
		"https://rdap.nic.example/nameserver/ns1.other.example":                   404,
		"https://rdap.north.example/rdap/entity/ORG-1-INVN":                       200,
		"https://rdap.north.example/rdap/entity/ORG-1-OTHER":                      404,
		"https://rdap.north.example/rdap/domain/2.0.192.in-addr.arpa":             200,
		"https://rdap.north.example/rdap/domain/3.0.192.in-addr.arpa":             404,
		"https://rdap.north.example/rdap/domain/1.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa": 200,
		// the query is wider than the allocated network
		"https://rdap.north.example/rdap/domain/8.b.d.0.1.0.0.2.ip6.arpa": 404,
		"https://rdap.re.example/autnum/64496":                            404,
		"https://rdap.palmes.example/entity/990001":                       200,
	} {
		if resp, body := get(t, client, url); resp.StatusCode != want || !json.Valid([]byte(body)) {
			t.Errorf("%s: status %d, want %d, %s", url, resp.StatusCode, want, body)
		}
	}
}

func TestDemoDials(t *testing.T) {
	d, err := NewDemo(5 * time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	var noHost *net.DNSError
	if _, err := d.DialContext(t.Context(), "tcp", "elsewhere.example:443"); !errors.As(err, &noHost) || !noHost.IsNotFound {
		t.Errorf("unknown host: %v", err)
	}
	if _, err := d.DialContext(t.Context(), "tcp", "rdap.re.example:80"); err == nil {
		t.Error("port 80 responds")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.DialContext(ctx, "tcp", "rdap.re.example:443"); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	client := demoClient(t, d)
	for range 10 {
		resp, body := get(t, client, "https://rdap.eu.example/domain/"+demoName("eu", 1))
		if resp.StatusCode != 200 || resp.Proto != "HTTP/1.1" || !bytes.Contains([]byte(body), []byte("registrant")) {
			t.Fatalf("%s %d %s", resp.Proto, resp.StatusCode, body)
		}
	}
	if n := d.Server("rdap.eu.example").Counts(); n.Connections != 1 || n.Requests != 10 {
		t.Errorf("counts %+v", n)
	}
	if !slices.Contains(d.Hosts(), "rdap.eu.example") {
		t.Error(d.Hosts())
	}
}

func TestDemoNamesAreDistinct(t *testing.T) {
	for _, tld := range demoTLDs {
		seen := make(map[string]bool)
		for i := range len(demoFirst) * len(demoSecond) {
			seen[demoName(tld, i)] = true
		}
		if len(seen) != 440 {
			t.Errorf(".%s: %d names", tld, len(seen))
		}
	}
}
