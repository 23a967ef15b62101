package pool_test

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// Addresses in a namespace of inNamespace: the client's, and one that can be
// turned into a black hole.
const (
	nearAddr = "10.9.9.1"
	holeAddr = "10.9.9.9"
)

// inNamespace runs the test that calls it in a process and a network namespace
// of its own, where it may do to the network what it likes, and reports
// whether this is that process. Elsewhere the caller has nothing left to do.
func inNamespace(t *testing.T) bool {
	t.Helper()
	const env = "RDAPQ_TEST_NAMESPACE"
	if os.Getenv(env) == t.Name() {
		ip(t, "link set lo up")
		ip(t, "addr add "+nearAddr+"/32 dev lo")
		ip(t, "addr add "+holeAddr+"/32 dev lo")
		return true
	}
	t.Parallel() // it does nothing but wait
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("a namespace is set up by ip of iproute2:", err)
	}
	cmd := exec.CommandContext(t.Context(), exe, "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=2m")
	cmd.Env = append(os.Environ(), env+"="+t.Name())
	// It must not outlive this process; to the kernel that is this thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	if uid, gid := os.Getuid(), os.Getgid(); uid != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: uid, Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: gid, Size: 1}}
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Skip("no network namespace to be had:", err)
	}
	switch err := cmd.Wait(); {
	case err != nil:
		t.Errorf("in the namespace: %v\n%s", err, &out)
	case strings.Contains(out.String(), "--- SKIP"):
		t.Skipf("in the namespace:\n%s", &out)
	case !strings.Contains(out.String(), "--- PASS"):
		t.Errorf("in the namespace nothing was tested:\n%s", &out)
	}
	return false
}

func ip(t *testing.T, args string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "ip", strings.Fields(args)...).CombinedOutput(); err != nil {
		t.Skipf("ip %s: %v: %s", args, err, out)
	}
}

// digHole makes holeAddr an address from which nothing is heard any more.
func digHole(t *testing.T) {
	t.Helper()
	// What leaves by one end is for nobody at the other.
	ip(t, "link add hole0 type veth peer name hole1")
	ip(t, "link set hole0 up")
	ip(t, "link set hole1 up")
	ip(t, "neigh add "+holeAddr+" lladdr 02:00:00:00:00:99 dev hole0")
	ip(t, "route add "+holeAddr+"/32 dev hole0")
	ip(t, "addr del "+holeAddr+"/32 dev lo")
	if nc, err := net.Dial("udp", holeAddr+":9"); err != nil {
		t.Fatal("it is a wall, not a hole:", err)
	} else {
		nc.Close()
	}
}

// setFastOpen sets net.ipv4.tcp_fastopen of the namespace.
func setFastOpen(t *testing.T, v int) {
	t.Helper()
	if err := os.WriteFile("/proc/sys/net/ipv4/tcp_fastopen", fmt.Append(nil, v), 0o644); err != nil {
		t.Skip("TCP Fast Open can't be configured:", err)
	}
}
