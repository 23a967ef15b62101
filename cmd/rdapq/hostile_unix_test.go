//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"unicode/utf8"

	"github.com/rdapq/rdapq/internal/rdaptest"
)

// hostileTexts has texts that clear the screen, set the title, start a line, reverse text or
// hide text if printed.
var hostileTexts = map[string]string{
	"escape sequences": "\x1b[2J\x1b]0;owned\x07\x1b]8;;http://evil.example\x1b\\\x1bP",
	"C0 and DEL":       "\x00\x01\b\b\v\f\x0e\x1a\x7f",
	"lines":            "\r\nINJECTED\r\u2028\u2029\u0085",
	"C1":               "\u009b31m\u009d0;x\u009c\u0090\u0080",
	"bidirectional":    "\u202e\u202d\u202b\u202a\u202c\u2066\u2067\u2068\u2069\u200e\u200f\u061c",
	"zero width":       "\u200b\u200c\u200d\u2060\u2064\ufeff\u180e\u00ad",
	"tags":             "\U000e0001\U000e0041\U000e007f",
}

// acts returns the characters of an output that a terminal would interpret or hide. Line feeds
// are the command's own, as are tabs in --format check.
func acts(out []byte, tabs bool) string {
	for i := 0; i < len(out); {
		r, n := utf8.DecodeRune(out[i:])
		switch {
		case r == '\n', r == '\t' && tabs:
		case r == utf8.RuneError && n == 1,
			r < 0x20, r >= 0x7f && r <= 0x9f, r == 0xad, r == 0x61c, r == 0x180e,
			r >= 0x200b && r <= 0x200f, r >= 0x2028 && r <= 0x202e, r >= 0x2060 && r <= 0x206f,
			r == 0xfeff, r >= 0xe0000 && r <= 0xe0fff:
			return fmt.Sprintf("%q in %q", r, out[max(0, i-60):min(len(out), i+60)])
		}
		i += n
	}
	return ""
}

// poisoned appends text to every string and member name of a document, except strings that
// identify its class.
func poisoned(v any, text string) any {
	switch v := v.(type) {
	case string:
		return v + text
	case []any:
		out := make([]any, len(v))
		for i := range v {
			if s, ok := v[i].(string); ok && (s == "vcard" || len(v) > 3 && i < 3) {
				out[i] = v[i] // these elements are the frame of a jCard
				continue
			}
			out[i] = poisoned(v[i], text)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v)+1)
		for k := range v {
			switch k {
			case "objectClassName", "eventAction", "roles", "rel", "type", "href", "startAddress", "endAddress":
				out[k] = v[k]
			default:
				out[k] = poisoned(v[k], text)
			}
		}
		out["member"+text] = text
		out["port43"] = text
		out["lang"] = text
		return out
	}
	return v
}

// escaped returns text as it appears in a JSON string.
func escaped(text string) string {
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(quoted[1 : len(quoted)-1])
}

// hostileServer returns a handler that poisons responses with text.
func hostileServer(text *string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		class, key, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/rdap"), "/"), "/")
		base := "https://" + r.Host + "/"
		known := rdaptest.Invented{Shape: rdaptest.Thick, Registrar: base + "rdap/"}
		body := known.Answer(rdaptest.Question{Base: base, Class: class, Key: key}).Body
		status := http.StatusOK
		switch class {
		case "domains":
			inner := known.Answer(rdaptest.Question{Base: base, Class: "domain", Key: "alpha.example"}).Body
			body = fmt.Appendf(nil, `{"rdapConformance":["x"],"notices":[{"title":"t","type":"result set truncated due to excessive load","description":["d"]}],"domainSearchResults":[%s]}`, inner)
		case "domain":
			label, _, _ := strings.Cut(key, ".")
			if code, ok := strings.CutPrefix(label, "status"); ok {
				fmt.Sscan(code, &status)
				body = []byte(`{"errorCode":400,"title":"title","description":["first","second"],"notices":[{"title":"n","description":["d"]}]}`)
			}
		}
		var doc any
		if err := json.Unmarshal(body, &doc); err != nil {
			panic(err)
		}
		out, err := json.Marshal(poisoned(doc, *text))
		if err != nil {
			panic(err)
		}
		if strings.HasPrefix(key, "links") {
			out = bytes.ReplaceAll(out, []byte(r.Host), []byte("evil"+escaped(*text)+".example"))
		}
		if strings.HasPrefix(key, "raw") {
			// the text is not escaped here
			out = bytes.ReplaceAll(out, []byte(`example`), []byte("example"+*text))
		}
		switch {
		case strings.HasPrefix(key, "html"):
			w.Header().Set("Content-Type", "text/html")
			out = []byte("<html><title>" + *text + "</title>" + *text)
		case strings.HasPrefix(key, "text"):
			w.Header().Set("Content-Type", "text/plain")
			out = []byte(*text + " not found " + *text)
		default:
			w.Header().Set("Content-Type", "application/rdap+json")
		}
		w.WriteHeader(status)
		_, _ = w.Write(out) // the client has closed the connection
	}
}

// runHostile runs the command and checks its output.
func runHostile(t *testing.T, env []string, args ...string) (stdout, stderr string) {
	t.Helper()
	cmd, said := command(t, args...)
	cmd.Env = append(cmd.Env, env...)
	var out bytes.Buffer
	cmd.Stdout = &out
	_ = cmd.Run() // many of these responses are not valid
	tabs := strings.Contains(strings.Join(args, " "), "check")
	if bad := acts(out.Bytes(), tabs); bad != "" {
		t.Errorf("%q: standard output: %s", args, bad)
	}
	if bad := acts(said.Bytes(), false); bad != "" {
		t.Errorf("%q: standard error: %s", args, bad)
	}
	if out.Len()+said.Len() == 0 {
		t.Errorf("%q says nothing", args)
	}
	return out.String(), said.String()
}

var allFormats = append([]string{"jq"}, formats...)

// formatted returns the flags for a format.
func formatted(format string) []string {
	if format == "jq" {
		return []string{"--jq", "."}
	}
	return []string{"--format", format}
}

// chosen reports whether a test runs the combination of the values with these indexes. Without
// RDAPQ_HOSTILE=1 the last index, of n values, follows from the other indexes. Each value is
// still combined with each value of every other list.
func chosen(n, last int, others ...int) bool {
	sum := 0
	for _, i := range others {
		sum += i
	}
	return rdaptest.AllHostile() || sum%n == last
}

// TestHostileTextInResponses covers hostile text in responses, with each class in each format,
// and text on standard error. RDAPQ_HOSTILE=1 tries both levels of messages with each.
func TestHostileTextInResponses(t *testing.T) {
	for i, what := range slices.Sorted(maps.Keys(hostileTexts)) {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			text := hostileTexts[what]
			s := rdaptest.Start(t, rdaptest.Config{Handler: hostileServer(&text)})
			ca := writeCA(t, s)
			queries := []string{
				"alpha.example", "raw.example", "links.example", "free.example", "html.example", "text.example", "2.0.192.in-addr.arpa", "192.0.2.1", "2001:db8::/32", "AS64500",
				s.URL() + "rdap/entity/ABC-1", s.URL() + "nameserver/ns1.alpha.example", s.URL() + "rdap/help", "domains?name=a*.example",
				"status400.example", "status401.example", "status403.example", "status404.example", "status422.example", "status500.example", "status501.example",
			}
			for j, format := range allFormats {
				for k, verbose := range []string{"-v", "-vv"} {
					if !chosen(2, k, i, j) {
						continue
					}
					args := append([]string{"--ca", ca, "-s", s.URL(), "-j", "1", "--attempts", "1", "--stats", verbose, "--color", "never"}, formatted(format)...)
					if _, shown := showsRegistrar(format, nil); shown {
						args = append(args, "--registrar")
					}
					out, _ := runHostile(t, nil, append(args, queries...)...)
					if !strings.Contains(out, `\u`) && !strings.Contains(out, `\x`) && !strings.Contains(out, `\U`) && !strings.Contains(out, "INJECTED") && format != "check" {
						t.Errorf("%s does not show the text:\n%s", format, out)
					}
				}
			}
		})
	}
}

func writeCA(t *testing.T, s *rdaptest.Server) string {
	t.Helper()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, s.CA().PEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	return ca
}

// hostileHeads has response heads with a place for text.
var hostileHeads = map[string]string{
	"reason":      "HTTP/1.1 500 %s\r\nContent-Length: 0\r\n\r\n",
	"version":     "HTTP/%s 200 OK\r\n\r\n",
	"location":    "HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: https://127.0.0.1:1/%s\r\n\r\n",
	"host":        "HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: https://evil%s.example/\r\n\r\n",
	"scheme":      "HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: ev%sil://x/\r\n\r\n",
	"query":       "HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: https://127.0.0.1:1/?a=%s&token=x\r\n\r\n",
	"retry":       "HTTP/1.1 429 Slow\r\nContent-Length: 0\r\nRetry-After: %s\r\n\r\n",
	"type":        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Type: text/%s\r\n\r\n{}",
	"encoding":    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Encoding: %s\r\nContent-Type: application/rdap+json\r\n\r\n{}",
	"length":      "HTTP/1.1 200 OK\r\nContent-Length: %s\r\n\r\n{}",
	"transfer":    "HTTP/1.1 200 OK\r\nTransfer-Encoding: %s\r\n\r\n{}",
	"field":       "HTTP/1.1 200 OK\r\nX%s: y\r\n\r\n{}",
	"alternative": "HTTP/1.1 404 No\r\nContent-Length: 0\r\nAlt-Svc: h3=\"%s:443\"\r\n\r\n",
	"challenge":   "HTTP/1.1 401 No\r\nContent-Length: 0\r\nWWW-Authenticate: Digest realm=\"%s\"\r\n\r\n",
	"no HTTP":     "SSH-2.0 %s\r\n",
}

// TestHostileTextInHeaders covers hostile text in response headers, as far as HTTP permits, and
// in non-RDAP bodies. RDAPQ_HOSTILE=1 tries both sets of flags with each.
func TestHostileTextInHeaders(t *testing.T) {
	t.Parallel() // the test mostly waits
	s := rdaptest.Start(t, rdaptest.Config{Protocols: rdaptest.H1Only})
	ca := writeCA(t, s)
	n, room := 0, make(chan struct{}, 12)
	var wait sync.WaitGroup
	for i, what := range slices.Sorted(maps.Keys(hostileTexts)) {
		line := strings.NewReplacer("\r", "", "\n", "", "\x00", "").Replace(hostileTexts[what])
		for j, part := range slices.Sorted(maps.Keys(hostileHeads)) {
			n++
			name := fmt.Sprintf("name%d.example", n)
			s.On("/domain/"+name, rdaptest.Junk(strings.Replace(hostileHeads[part], "%s", line, 1)))
			for k, flags := range [][]string{{"-vv", "--stats", "--format", "ndjson"}, {"-v"}} {
				if !chosen(2, k, i, j) {
					continue
				}
				// These runs mostly wait for retries.
				room <- struct{}{}
				wait.Go(func() {
					defer func() { <-room }()
					runHostile(t, nil, append([]string{"--ca", ca, "-s", s.URL(), "--max-wait", "0", name}, flags...)...)
				})
			}
		}
	}
	wait.Wait()
	t.Logf("%d heads", n)
}

// Errors about certificates show the names in the certificates.
func TestHostileTextInCertificates(t *testing.T) {
	ca, err := rdaptest.NewCA()
	if err != nil {
		t.Fatal(err)
	}
	const evil = "\x1b]0;owned\x07\x1b[2J\x7f.example"
	cert, err := ca.Certificate(evil)
	if err != nil {
		t.Fatal(err)
	}
	s := rdaptest.Start(t, rdaptest.Config{CA: ca, Certificate: &cert})
	for _, trusted := range []string{writeCA(t, s), ""} {
		_, stderr := runHostile(t, []string{"SSL_CERT_FILE=" + writeCA(t, s)}, "--ca", trusted, "-vv", "-s", s.URL(), "alpha.example")
		if !strings.Contains(stderr, "no TLS connection") {
			t.Errorf("other error: %s", stderr)
		}
	}
}

// Errors show the reason phrase of a proxy. Bootstrap files may be manipulated.
func TestHostileTextFromProxies(t *testing.T) {
	t.Parallel() // the test mostly waits
	var wait sync.WaitGroup
	for _, text := range hostileTexts {
		line := strings.NewReplacer("\r", "", "\n", "", "\x00", "").Replace(text)
		for _, head := range []string{
			"HTTP/1.1 403 %s\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 407 %s\r\nProxy-Authenticate: Basic realm=\"%s\"\r\n\r\n",
			"HTTP/1.1 %s\r\n\r\n", "%s\r\n\r\n", "\x05%s",
		} {
			proxy := sayingServer(t, strings.ReplaceAll(head, "%s", line))
			for _, scheme := range []string{"http", "socks5"} {
				wait.Go(func() {
					_, stderr := runHostile(t, nil, "--proxy", scheme+"://"+proxy, "-vv", "-s", "https://rdap.alpha.example/", "alpha.example")
					if !strings.Contains(stderr, "the proxy") {
						t.Errorf("other error: %s", stderr)
					}
				})
			}
		}
		wait.Wait()
	}
}

// sayingServer starts a server that reads some bytes, sends text and closes the
// connection.
func sayingServer(t *testing.T, text string) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer nc.Close()
				_, _ = nc.Read(make([]byte, 4096)) // any request
				_, _ = nc.Write([]byte(text))
			}()
		}
	}()
	return l.Addr().String()
}

func TestHostileTextInBootstrapFiles(t *testing.T) {
	t.Parallel() // the test mostly waits
	ca, err := rdaptest.NewCA()
	if err != nil {
		t.Fatal(err)
	}
	for what, text := range hostileTexts {
		t.Run(what, func(t *testing.T) {
			in := escaped(text)
			var services []string
			for i, u := range []string{"https://evil" + in + ".example/", "https://127.0.0.1:1/" + in + "/", "http://127.0.0.1:1/" + in, "ev" + in + "il:x"} {
				services = append(services, fmt.Sprintf(`[["zz%d"],["%s"]]`, i, u))
			}
			for i := range 2000 { // the command would refuse fewer entries than before
				services = append(services, fmt.Sprintf(`[["filler%d","%s"],["https://127.0.0.1:1/"]]`, i, in))
			}
			var status atomic.Int32 // the command may have ended
			status.Store(http.StatusOK)
			iana := rdaptest.Start(t, rdaptest.Config{CA: ca, Names: []string{"data.iana.org"}, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(int(status.Load()))
				fmt.Fprintf(w, `{"version":"%[1]s","description":"%[1]s","publication":"2099-01-01T00:00:00Z","services":[%[2]s]}`, in, strings.Join(services, ","))
			})})
			way := httptest.NewServer(&proxy{to: map[string]string{"data.iana.org:443": iana.Addr()}})
			t.Cleanup(way.Close)
			env := []string{"HTTPS_PROXY=" + way.URL, "SSL_CERT_FILE=" + writeCA(t, iana), "SSL_CERT_DIR=" + t.TempDir(), "RDAPQ_ALLOW_PRIVATE=true"}
			for _, format := range []string{"text", "ndjson", "csv"} {
				out, _ := runHostile(t, env, "-vv", "--format", format, "a.zz0", "a.zz1", "a.zz2", "a.zz3")
				if format == "ndjson" && !strings.Contains(out, `"source":"iana"`) && !strings.Contains(out, "IANA's dns registry of 2099") {
					t.Errorf("the file was not used: %s", out)
				}
			}
			status.Store(http.StatusTeapot)
			runHostile(t, env, "-vv", "a.zz0")
		})
	}
}

// Bytes that a server sends after its response do not appear on standard error.
func TestTrailingBytesNotPrinted(t *testing.T) {
	s := rdaptest.Start(t, rdaptest.Config{Protocols: rdaptest.H1Only})
	s.On("/domain/alpha.example", rdaptest.Junk("HTTP/1.1 404 Not Found\r\nContent-Type: application/rdap+json\r\nContent-Length: 17\r\n\r\n{\"errorCode\":404}HTTP/1.1 200 buy something else\r\n\r\n"))
	cmd, said := command(t, "--ca", writeCA(t, s), "-s", s.URL(), "--format", "check", "alpha.example")
	out, err := cmd.Output()
	if err != nil || string(out) != "alpha.example\tnot_found\n" || said.Len() > 0 {
		t.Errorf("%v, %q, %q", err, out, said)
	}
}

// Credentials in a pasted URL are sent only to the server of that URL. RDAPQ_HOSTILE=1
// tries all combinations of path, type and format.
func TestPastedURLSecrets(t *testing.T) {
	t.Parallel() // the test mostly waits
	s := rdaptest.Start(t, rdaptest.Config{Log: true})
	ca := writeCA(t, s)
	room := make(chan struct{}, 4)
	var wait sync.WaitGroup
	types := []string{"", "domain", "ip", "entity", "domains"}
	for i, path := range []string{"domain/alpha.example?", "domain/a..b?", "ip/alpha?", "domains?name=a*b*c&", "rdap/what?"} {
		query := strings.Replace(s.URL(), "https://", "https://user:hidden@", 1) + path + "client_secret=hidden&jwt=hidden"
		for j, format := range allFormats {
			for k, typ := range types {
				if !chosen(len(types), k, i, j) {
					continue
				}
				args := append([]string{"--ca", ca, "-s", s.URL(), "-t", typ, "-vv", "--trace", "--stats"}, formatted(format)...)
				room <- struct{}{}
				wait.Go(func() {
					defer func() { <-room }()
					out, said := runHostile(t, nil, append(args, query, "beta.example")...)
					if i := strings.Index(out+said, "hidden"); i >= 0 {
						t.Errorf("%q of type %q in %s: %q", path, typ, format, (out + said)[max(0, i-100):i+6])
					}
				})
			}
		}
	}
	wait.Wait()
	for _, e := range s.Log() {
		if path, _, _ := strings.Cut(e.URI, "?"); strings.Contains(path, "hidden") {
			t.Errorf("asked for %s", e.URI)
		}
	}
}
