package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/internal/testrun"
)

// maxMemory limits the peak memory of a run, whatever a server sends.
const maxMemory = 64 << 20

// maxValidMemory limits the peak for a large valid response, of ten megabytes or a
// hundred thousand entities. Several copies of its text exist while it is decoded.
const maxValidMemory = 2 * maxMemory

// A giant is a response meant to exhaust the client.
type giant struct {
	send http.HandlerFunc
	want string // expected verdict and error code
	real bool   // whether the response is valid, of the maximum size
}

// repeat writes text until most bytes are written, or endlessly if most is negative.
func repeat(w io.Writer, text string, most int64) {
	block := strings.Repeat(text, 1+(64<<10)/len(text))
	for sent := int64(0); most < 0 || sent < most; sent += int64(len(block)) {
		if _, err := io.WriteString(w, block); err != nil {
			return
		}
	}
}

// zipped returns a handler that compresses the output of send.
func zipped(send func(w io.Writer)) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z, _ := gzip.NewWriterLevel(w, gzip.BestSpeed) // the level is valid
		defer z.Close()
		send(z)
	}
}

// giants has responses by the first label of the queried name.
var giants = map[string]giant{
	"endless": {func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `{"objectClassName":"domain","remarks":[{"description":["`)
		repeat(w, "for ever and ", -1)
	}, "failed too_large", false},
	"endless-gzip": {zipped(func(w io.Writer) { repeat(w, " ", -1) }), "failed too_large", false},
	"bomb":         {zipped(func(w io.Writer) { repeat(w, " ", 1<<30) }), "failed too_large", false},
	"announced": {func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(int64(5<<30)))
		repeat(w, "{", -1)
	}, "failed too_large", false},
	"error": {func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		repeat(w, "not here ", -1)
	}, "not_found not_found", false},
	"drip": {func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			io.WriteString(w, " ")
			http.NewResponseController(w).Flush()
			select {
			case <-r.Context().Done():
			case <-time.After(20 * time.Millisecond):
			}
		}
	}, "failed timeout", false},
	"head": {func(w http.ResponseWriter, _ *http.Request) {
		for i := range 1000 {
			w.Header().Set(fmt.Sprintf("X-%d", i), strings.Repeat("head ", 4000))
		}
		io.WriteString(w, "{}")
	}, "failed transport", false},
	"entities": {func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `{"objectClassName":"domain"`)
		for range 100_000 {
			io.WriteString(w, `,"entities":[{"objectClassName":"entity"`)
		}
		io.WriteString(w, strings.Repeat("}]", 100_000)+"}")
	}, "failed not_rdap", false},
	"arrays": {func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `{"objectClassName":"domain","remarks":`+strings.Repeat("[", 1_000_000)+strings.Repeat("]", 1_000_000)+"}")
	}, "failed not_rdap", false},
	"unclosed": {func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, strings.Repeat(`{"a":`, 500_000))
	}, "failed not_rdap", false},
	"wide": {func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `{"objectClassName":"domain","ldhName":"wide.example","entities":[{}`+strings.Repeat(`,{"roles":["abuse"]}`, 100_000)+"]}")
	}, "registered ", true},
	"wider": {func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `{"objectClassName":"domain","ldhName":"wider.example","entities":[{}`+strings.Repeat(`,{}`, 3_000_000)+"]}")
	}, "registered ", true},
	"links": {func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `{"objectClassName":"domain","ldhName":"links.example","links":[{}`+strings.Repeat(`,{"rel":"related","href":"/x"}`, 200_000)+"]}")
	}, "registered ", true},
	"warnings": {func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `{"objectClassName":"domain","ldhName":"warnings.example","status":[1`+strings.Repeat(`,1`, 4_000_000)+"]}")
	}, "registered ", true},
}

// executable returns the path of the command. It is this test's binary, which takes 2 MiB
// more than the command itself.
func executable(t *testing.T) string {
	t.Helper()
	exe, err := exec.LookPath("rdapq")
	if err != nil {
		t.Fatal(err)
	}
	return exe
}

// checkPeak checks the peak memory of a run, from the file that measured writes. On a busy
// machine the garbage collector may fall behind, so checkPeak repeats the run.
func checkPeak(t *testing.T, what string, most int64, run func(file string)) {
	t.Helper()
	const tries = 3
	file := filepath.Join(t.TempDir(), "peak")
	for try := 1; ; try++ {
		run(file)
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		peak, err := strconv.ParseInt(string(text), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d MiB", what, peak>>20)
		if peak <= most {
			return
		}
		if try == tries {
			t.Errorf("%s took %d MiB", what, peak>>20)
			return
		}
	}
}

// A run ends in time with a clear error and within the memory limit, for any response.
// Other lookups of the batch are answered. Only with RDAPQ_HOSTILE=1 does the test also use the
// text format for rejected responses, whose text is a short error.
func TestMemoryOfGiants(t *testing.T) {
	testrun.SkipWithRaceDetector(t)
	if testing.Short() {
		t.Skip("takes seconds")
	}
	t.Parallel() // the slow responses mostly wait
	exe := executable(t)
	s := rdaptest.Start(t, rdaptest.Config{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/rdap+json")
		name := strings.TrimPrefix(r.URL.Path, "/domain/")
		label, _, _ := strings.Cut(name, ".")
		if g, ok := giants[label]; ok {
			g.send(w, r)
			return
		}
		fmt.Fprintf(w, `{"objectClassName":"domain","ldhName":%q}`, name)
	})})
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, s.CA().PEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(t *testing.T, most int64, args ...string) (rows map[string]string) {
		t.Helper()
		var out, stderr bytes.Buffer
		checkPeak(t, strings.Join(args, " "), most, func(peak string) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			out.Reset()
			cmd := exec.CommandContext(ctx, "measured", append([]string{exe, "-s", s.URL(), "--ca", ca}, args...)...)
			cmd.Env = []string{"HOME=" + t.TempDir(), measuredFile + "=" + peak}
			cmd.Stdout, cmd.Stderr = &out, &stderr
			if err := cmd.Run(); ctx.Err() != nil || err != nil && cmd.ProcessState.ExitCode() != exitSomeFail {
				t.Fatalf("%q: %v, %v\n%s", args, err, ctx.Err(), stderr.Bytes())
			}
		})
		rows = make(map[string]string)
		if out.Len() > 0 && out.Bytes()[0] == '{' {
			for line := range bytes.Lines(out.Bytes()) {
				var row struct {
					Query, Verdict string
					Error          struct{ Code string }
				}
				if err := json.Unmarshal(line, &row); err != nil {
					t.Fatal(err)
				}
				rows[row.Query] = row.Verdict + " " + row.Error.Code
			}
		}
		return rows
	}
	for label, g := range giants {
		t.Run(label, func(t *testing.T) {
			most := int64(maxMemory)
			if g.real {
				most = maxValidMemory
			}
			timeout := "30s"
			if label == "drip" {
				timeout = "300ms"
			}
			if got := run(t, most, "--timeout", timeout, "--format", "ndjson", label+".example")[label+".example"]; got != g.want {
				t.Errorf("%q, want %q", got, g.want)
			}
			if g.real || rdaptest.AllHostile() {
				run(t, most, "--timeout", timeout, label+".example") // in text format
			}
		})
	}
	t.Run("bootstrap files", func(t *testing.T) {
		for what, send := range map[string]http.HandlerFunc{
			"endless": func(w http.ResponseWriter, _ *http.Request) { repeat(w, " ", -1) },
			"bomb":    zipped(func(w io.Writer) { repeat(w, " ", 1<<30) }),
			"nested":  func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, strings.Repeat("[", 1_000_000)) },
			"wide": func(w http.ResponseWriter, _ *http.Request) {
				io.WriteString(w, `{"publication":"2099-01-01T00:00:00Z","services":[[["a"],["https://x/"]]`+strings.Repeat(`,[["a"],["https://x/"]]`, 42_000)+"]}")
			},
		} {
			iana := rdaptest.Start(t, rdaptest.Config{CA: s.CA(), Names: []string{"data.iana.org"}, Handler: send})
			way := httptest.NewServer(&proxy{to: map[string]string{"data.iana.org:443": iana.Addr()}})
			t.Cleanup(way.Close)
			checkPeak(t, what, maxMemory, func(peak string) {
				home := t.TempDir()
				cmd := exec.CommandContext(t.Context(), "measured", exe, "-q", "-e", "alpha.zz")
				cmd.Env = []string{"HOME=" + home, measuredFile + "=" + peak, "HTTPS_PROXY=" + way.URL, "SSL_CERT_FILE=" + ca, "SSL_CERT_DIR=" + home}
				_ = cmd.Run() // the exit code is checked below
				if code := cmd.ProcessState.ExitCode(); code != 5 {
					t.Errorf("%s: exit code %d", what, code)
				}
			})
			if iana.Counts().Requests == 0 {
				t.Errorf("%s: the file was not requested", what)
			}
		}
	})
	// Four lookups run at a time, among lookups that succeed. The timeout suffices for ten
	// megabytes on a slow machine.
	t.Run("batch", func(t *testing.T) {
		var list strings.Builder
		want := make(map[string]string)
		for label, g := range giants {
			// A header that is too large ends its connection and with it concurrent lookups.
			// Another test covers such headers.
			if !g.real && label != "head" {
				want[label+".example"] = g.want
			}
		}
		for i := range 200 {
			want[fmt.Sprintf("name%d.example", i)] = "registered "
		}
		for name := range want {
			fmt.Fprintln(&list, name)
		}
		file := filepath.Join(t.TempDir(), "names.txt")
		if err := os.WriteFile(file, []byte(list.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		got := run(t, maxValidMemory, "--timeout", "5s", "--attempts", "2", "-f", file, "--format", "ndjson", "-j", "4")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}
