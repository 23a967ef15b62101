package render

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/limit"
	"github.com/rdapq/rdapq/pool"
)

func TestWriteSummary(t *testing.T) {
	var tally Tally
	var failures Failures
	add := func(server string, v client.Verdict, code client.Code, message string) {
		r := &client.Result{Server: server, Verdict: v, Attempts: 1}
		if code != "" {
			r.Failure = &client.Error{Code: code, Message: message}
		}
		tally.Add(r)
		failures.Add(r)
	}
	add("https://a.example/", client.VerdictRegistered, "", "")
	add("https://a.example/", client.VerdictNotFound, "not_found", "not found")
	add("https://b.example/", client.VerdictFailed, "timeout", "no answer\x1b[2J\nin time")
	add("https://b.example/", client.VerdictFailed, "timeout", "another")
	add("https://b.example/other/", client.VerdictFailed, "refused", "b.example refused the connection")
	add("https://b.example/", client.VerdictFailed, "refused", "b.example refused the connection")
	add("", client.VerdictInvalid, "invalid", "no query")
	var b strings.Builder
	err := WriteSummary(&b, Summary{
		Report: tally.Report(pool.Stats{}, 0), Failures: &failures,
		Previous: map[string]int64{"registered": 1200}, Duplicates: 1, NotQueried: 7,
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `7 lines: 1 registered, 1 not found, 4 failed, 1 invalid
  besides   1,200 lines already done (1,200 registered), 1 duplicate line skipped, 7 lines read but not queried
  servers   b.example · 3 failed
            b.example/other · 1 failed
            a.example · 1 registered, 1 not found
  errors    2 × refused, for example: b.example refused the connection
            2 × timeout, for example: no answer\x1b[2J in time
            1 × invalid: no query
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}

// TestFailuresAreBounded checks the memory for any number of servers and errors.
func TestFailuresAreBounded(t *testing.T) {
	var f Failures
	for i := range 10 * maxFailures {
		f.Add(&client.Result{Server: fmt.Sprintf("https://s%d.example/", i), Verdict: client.VerdictFailed, Failure: &client.Error{Code: "tls", Message: fmt.Sprint(i) + strings.Repeat("é", 10000)}})
	}
	if len(f.groups) != maxFailures || f.more != 9*maxFailures {
		t.Errorf("%d groups, %d more", len(f.groups), f.more)
	}
	var b strings.Builder
	if err := WriteSummary(&b, Summary{Failures: &f}); err != nil || strings.Count(b.String(), "\n") != 1+maxShownFailures+1 || b.Len() > 5000 {
		t.Errorf("%s, %v", b.String(), err)
	}
	if !strings.HasSuffix(b.String(), "and 1,990 more\n") {
		t.Error(b.String())
	}
}

func TestLimit(t *testing.T) {
	for want, r := range map[string]limit.Rate{
		"":                {},
		"100 per 1 m":     {N: 100, Per: time.Minute},
		"2,270 per 55 s":  {N: 2270, Per: 54794411056},
		"20 per 2 s":      {N: 20, Per: 2 * time.Second},
		"20 per 2.3 s":    {N: 20, Per: 2345 * time.Millisecond},
		"5 per 250 ms":    {N: 5, Per: 250 * time.Millisecond},
		"1,000 per 24 h":  {N: 1000, Per: 24 * time.Hour},
		"10 per 1 m 30 s": {N: 10, Per: 90 * time.Second},
		"1,800 per 15 m":  {N: 1800, Per: 15 * time.Minute},
		"60 per 1 m":      {N: 60, Per: 59_999_999_999},
	} {
		if got := Limit(r); got != want {
			t.Errorf("%+v: %q, want %q", r, got, want)
		}
	}
}

// TestFailuresWithoutAddress checks that errors which differ only in the server's
// address form one group.
func TestFailuresWithoutAddress(t *testing.T) {
	var f Failures
	for i := range 3 * maxFailures {
		server := fmt.Sprintf("https://192.0.2.%d:8443/", i)
		cause := error(&net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(192, 0, 2, byte(i)), Port: i}, Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)})
		if i%2 == 1 {
			cause = &pool.Error{Step: pool.StepHandshake, Origin: server, Err: context.DeadlineExceeded}
		}
		f.Add(&client.Result{Server: server, Verdict: client.VerdictFailed, Failure: &client.Error{Code: client.CodeTransport, Message: "no connection to " + server, Err: cause}})
	}
	if len(f.groups) != 2 || f.more != 0 {
		t.Errorf("%d groups and %d more, want 2 and 0", len(f.groups), f.more)
	}
}
