package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rdapq/rdapq/internal/namespace"
	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/internal/testrun"
)

// manyHostsEnv is the variable with the number of hosts for TestManyHosts. The default is
// a quarter more than there are descriptors; `make long` sets 20000. With this variable or
// RDAPQ_HOSTILE=1 the test also runs with 1,024 descriptors.
const manyHostsEnv = "RDAPQ_TEST_HOSTS"

// manyHostsMemory limits the peak memory, of which the program itself takes 18 MiB.
const manyHostsMemory = 96_000_000

// A batch with more hosts than available file descriptors produces a result for every line,
// within a memory limit.
func TestManyHosts(t *testing.T) {
	testrun.SkipWithRaceDetector(t)
	if !namespace.Enter(t) {
		return
	}
	hosts := func(limit int) int { return limit + limit/4 }
	if text := os.Getenv(manyHostsEnv); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		hosts = func(int) int { return n }
	}
	namespace.Answer(t, func(name string) []netip.Addr {
		if strings.HasSuffix(name, ".hosts.test") {
			return []netip.Addr{netip.MustParseAddr("127.0.0.1")}
		}
		return nil
	})
	ca, err := rdaptest.NewCA()
	if err != nil {
		t.Fatal(err)
	}
	caFile := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(caFile, ca.PEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	server := rdaptest.Start(t, rdaptest.Config{CA: ca, Names: []string{"*.hosts.test"}, Addr: "127.0.0.1:443"})
	exe := executable(t)
	limits := []int{256}
	if os.Getenv(manyHostsEnv) != "" || rdaptest.AllHostile() {
		limits = append(limits, 1024)
	}
	for _, limit := range limits {
		t.Run(strconv.Itoa(limit), func(t *testing.T) {
			n := hosts(limit)
			var list bytes.Buffer
			for i := range n {
				fmt.Fprintf(&list, "https://h%d.hosts.test/domain/d%d.example\n", i, i)
			}
			input := filepath.Join(t.TempDir(), "list")
			if err := os.WriteFile(input, list.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
			checkPeak(t, fmt.Sprintf("%d hosts with %d descriptors", n, limit), manyHostsMemory, func(peak string) {
				var out, stderr bytes.Buffer
				cmd := exec.CommandContext(t.Context(), "measured", "sh", "-c", fmt.Sprintf(`ulimit -n %d && exec "$0" "$@"`, limit),
					exe, "--file", input, "--format", "ndjson", "--ca", caFile, "--allow-private")
				cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), measuredFile+"="+peak)
				cmd.Stdout, cmd.Stderr = &out, &stderr
				if err := cmd.Run(); err != nil {
					t.Errorf("%v\n%s", err, &stderr)
				}
				answered, failures := verdicts(t, &out)
				t.Logf("%d of %d answered, CPU time %v", answered, n, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
				if answered != n {
					t.Errorf("%d of %d answered; %.2000v", answered, n, failures)
				}
			})
		})
	}
	if c := server.Counts(); c.MaxOpen > int64(limits[len(limits)-1]*3/4+20) {
		t.Errorf("%d connections at a time", c.MaxOpen)
	}
}

// verdicts returns the number of answered rows, and the numbers of other rows by error.
func verdicts(t *testing.T, out io.Reader) (answered int, failures map[string]int) {
	t.Helper()
	failures = make(map[string]int)
	for d := json.NewDecoder(out); d.More(); {
		var row struct {
			Verdict string
			Error   struct{ Message string }
		}
		if err := d.Decode(&row); err != nil {
			t.Fatal(err)
		}
		if row.Verdict == "registered" || row.Verdict == "not_found" {
			answered++
		} else {
			failures[row.Error.Message]++
		}
	}
	return answered, failures
}
