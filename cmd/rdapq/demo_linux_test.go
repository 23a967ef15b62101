package main

import (
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/rdapq/rdapq/internal/namespace"
)

// A new network namespace has no route to the servers of --demo. The command reports the
// missing route without trying to connect.
func TestDemoWithoutLoopback(t *testing.T) {
	if !namespace.Enter(t) {
		return
	}
	namespace.IP(t, "link set lo down")
	for _, args := range [][]string{{"--demo", "courbu.re"}, {"bench"}} {
		cmd, stderr := command(t, args...)
		err := cmd.Run()
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok || exit.ExitCode() != exitNoRun || !strings.Contains(stderr.String(), "cannot start the demo registry: the loopback interface is down; ip link set lo up brings it up") {
			t.Errorf("%v: %v, %s", args, err, stderr)
		}
	}
}
