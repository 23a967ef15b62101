package namespace

import (
	"bytes"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Enter runs the test that calls it in a process and a network namespace of its
// own, with loopback up, and reports whether this is that process. Elsewhere the
// caller has nothing left to do. It skips where that is not permitted.
func Enter(t *testing.T) bool {
	t.Helper()
	const env = "RDAPQ_TEST_NAMESPACE"
	if os.Getenv(env) == t.Name() {
		IP(t, "link set lo up")
		return true
	}
	t.Parallel() // it does nothing but wait
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("ip (iproute2) is not installed:", err)
	}
	cmd := exec.CommandContext(t.Context(), exe, "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout="+left(t).String())
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
		t.Skip("cannot create a network namespace:", err)
	}
	switch err := cmd.Wait(); {
	case err != nil:
		t.Errorf("in the namespace: %v\n%s", err, &out)
	case strings.Contains(out.String(), "--- SKIP"):
		t.Skipf("in the namespace:\n%s", &out)
	case !strings.Contains(out.String(), "--- PASS"):
		t.Errorf("no test ran in the namespace:\n%s", &out)
	default:
		t.Logf("in the namespace:\n%s", &out) // what was measured
	}
	return false
}

// left is the time that the test has, a little less than its process.
func left(t *testing.T) time.Duration {
	if deadline, ok := t.Deadline(); ok {
		return max(time.Until(deadline)-5*time.Second, time.Second)
	}
	return 2 * time.Minute
}

// IP calls ip of iproute2. It skips the test if that fails.
func IP(t *testing.T, args string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "ip", strings.Fields(args)...).CombinedOutput(); err != nil {
		t.Skipf("ip %s: %v: %s", args, err, out)
	}
}

// Own makes addresses those of this namespace's loopback.
func Own(t *testing.T, addresses ...string) {
	t.Helper()
	for _, a := range addresses {
		if strings.Contains(a, ":") {
			IP(t, "-6 addr add "+a+"/128 dev lo nodad")
		} else {
			IP(t, "addr add "+a+"/32 dev lo")
		}
	}
}
