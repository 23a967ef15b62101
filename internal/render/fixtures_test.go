package render

import (
	"crypto/tls"
	"errors"
	"flag"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdapq/rdapq/bootstrap"
	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/pool"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// noon is the reference time of all fixtures.
var noon = time.Date(2024, 3, 1, 12, 0, 0, 0, time.UTC)

func body(t testing.TB, name string) []byte {
	t.Helper()
	if name == "" {
		return nil
	}
	raw, err := os.ReadFile(filepath.Join("testdata", "bodies", name))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", "golden", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (to create it, run: go test ./internal/render -update)", err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", path, diff)
	}
}

// answered returns a result of a successful lookup.
func answered(t testing.TB, text string, typ client.Type, name string) *client.Result {
	r := &client.Result{
		Line:     1,
		Query:    client.Query{Text: text, Type: typ, Name: text},
		Verdict:  client.VerdictFound,
		Status:   200,
		Server:   "https://rdap.registry.example/",
		Source:   bootstrap.SourceIANA,
		Entry:    "example",
		URL:      "https://rdap.registry.example/" + string(typ) + "/" + text,
		Time:     noon,
		Attempts: 1,
		Elapsed:  91300 * time.Microsecond,
		Conn:     pool.Trace{ConnID: 1, Reused: true, Protocol: "h2", TLS: tls.VersionTLS13},
		Raw:      body(t, name),
	}
	r.FinalURL = r.URL
	if typ == client.TypeDomain {
		r.Verdict = client.VerdictRegistered
	}
	return r
}

func refused(r *client.Result, v client.Verdict, status int, e *client.Error) *client.Result {
	r.Verdict, r.Status, r.Refusal = v, status, e
	e.Status, e.Server, e.URL = status, r.Server, r.URL
	return r
}

// fixtures returns results of every kind.
func fixtures(t testing.TB) map[string]*client.Result {
	all := map[string]*client.Result{
		"domain-thin":  answered(t, "alpha.example", client.TypeDomain, "domain-thin.json"),
		"domain-thick": answered(t, "bücher.example", client.TypeDomain, "domain-thick.json"),
		"network-v4":   answered(t, "192.0.2.7", client.TypeIP, "network-v4.json"),
		"network-v6":   answered(t, "2001:db8::1", client.TypeIP, "network-v6.json"),
		"autnum":       answered(t, "AS64500", client.TypeAutnum, "autnum.json"),
		"autnum-block": answered(t, "AS64505", client.TypeAutnum, "autnum-block.json"),
		"entity":       answered(t, "ORG-EX1-TEST", client.TypeEntity, "entity.json"),
		"nameserver":   answered(t, "ns1.alpha.example", client.TypeNameserver, "nameserver.json"),
		"help":         answered(t, "help", client.TypeHelp, "help.json"),
		"search":       answered(t, "*.example", client.TypeDomain, "search.json"),
	}
	all["domain-thick"].Query.Name = "xn--bcher-kva.example"
	all["domain-thick"].Conn = pool.Trace{ConnID: 2, Protocol: "http/1.1", TLS: tls.VersionTLS12, Resumed: true}
	all["network-v4"].Query.Prefix = netip.MustParsePrefix("192.0.2.7/32")
	all["network-v4"].FinalURL = "https://rdap.other.example/ip/192.0.2.7"
	all["network-v6"].Query.Prefix = netip.MustParsePrefix("2001:db8::1/128")
	all["autnum"].Query.Autnum = 64500
	all["autnum-block"].Query.Autnum = 64505
	all["search"].Verdict = client.VerdictFound

	other := answered(t, "alpha.gov.example", client.TypeDomain, "domain-thin.json")
	other.Warnings = []client.Warning{{Code: client.WarnOtherObject, Message: `asked for "alpha.gov.example", the answer is about "ALPHA.EXAMPLE"`}}
	other.Other = "alpha.example"
	all["domain-other"] = other

	all["not-found"] = refused(answered(t, "alpha.example", client.TypeDomain, "not-found.json"), client.VerdictNotFound, 404, &client.Error{
		Code:    client.CodeNotFound,
		Message: "not found (404) at https://rdap.registry.example/: Not Found: Name: alpha.example",
		Title:   "Not Found", Detail: []string{"Name: alpha.example", "Reserved by registry"},
	})
	all["not-found-empty"] = refused(answered(t, "alpha.example", client.TypeDomain, ""), client.VerdictNotFound, 404, &client.Error{
		Code:    client.CodeNotFound,
		Message: "not found (404) at https://rdap.registry.example/",
	})
	all["rate-limited"] = refused(answered(t, "alpha.example", client.TypeDomain, ""), client.VerdictRateLimited, 429, &client.Error{
		Code:       client.CodeRateLimited,
		Message:    "rate limited (429) at https://rdap.registry.example/: Too Many Requests",
		Hint:       "the server says to come back in 1m30s",
		Title:      "Too Many Requests",
		RetryAfter: 90 * time.Second,
	})
	all["rate-limited"].Attempts = 3
	all["html"] = refused(answered(t, "alpha.example", client.TypeDomain, "moved.html"), client.VerdictFailed, 200, &client.Error{
		Code:    client.CodeNotRDAP,
		Message: "the response is not RDAP: https://rdap.registry.example/web gave (200), text/html, an HTML page: <html><head><title>Moved</title></head>",
	})
	all["html"].FinalURL = "https://rdap.registry.example/web"
	all["no-service"] = &client.Result{
		Line: 4, Query: client.Query{Text: "alpha.zz", Type: client.TypeDomain, Name: "alpha.zz"}, Verdict: client.VerdictNoService, Time: noon,
		Failure: &client.Error{
			Code: client.CodeNoService, Message: "no RDAP service known for .zz (alpha.zz)", Hint: "name a server with --server if you know one",
			Err: errors.New("no service"),
		},
	}
	all["invalid"] = &client.Result{
		Line: 5, Query: client.Query{Text: "al pha"}, Verdict: client.VerdictInvalid, Time: noon,
		Failure: &client.Error{Code: client.CodeInvalid, Message: `"al pha": a space in a name`, Hint: "one query a line"},
	}
	return all
}

// TestRecordedAnswers formats responses recorded from servers in every format.
func TestRecordedAnswers(t *testing.T) {
	dir := os.Getenv("RDAPQ_SHARED")
	if dir == "" {
		t.Skip("RDAPQ_SHARED does not say where recorded answers are")
	}
	files, err := filepath.Glob(filepath.Join(dir, "bodies", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no bodies in %s: %v", dir, err)
	}
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			raw, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			r := &client.Result{Query: client.Query{Text: "q", Name: "q", Type: client.TypeDomain}, Verdict: client.VerdictFound, Raw: raw, Time: noon}
			text := string(AppendText(nil, r, TextOptions{Now: noon, Width: 100}))
			t.Logf("\n%s", text)
			for _, text := range []string{text, string(AppendText(nil, r, TextOptions{Verbose: true}))} {
				checkText(t, text, false)
				for _, never := range []string{"0001-01-01", "<nil>", "%!"} {
					if strings.Contains(text, never) {
						t.Errorf("%q in\n%s", never, text)
					}
				}
			}
			checkRow(t, AppendRow(nil, r))
			checkTable(t, r)
		})
	}
}
