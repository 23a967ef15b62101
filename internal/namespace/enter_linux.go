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

// Enter runs the calling test in a separate process and network namespace, with loopback
// up. It returns true in that process. In the other process it returns false, and the
// caller must return. It skips the test if namespaces are not permitted.
func Enter(t *testing.T) bool {
	t.Helper()
	const env = "RDAPQ_TEST_NAMESPACE"
	if os.Getenv(env) == t.Name() {
		IP(t, "link set lo up")
		return true
	}
	t.Parallel() // run in parallel, because this process only waits
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("ip (iproute2) is not installed:", err)
	}
	cmd := exec.CommandContext(t.Context(), exe, "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout="+left(t).String())
	cmd.Env = append(os.Environ(), env+"="+t.Name())
	// The child must not outlive its parent, which for the kernel is this thread.
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
		t.Logf("in the namespace:\n%s", &out) // the output includes measurements
	}
	return false
}

// left returns the remaining time of the test, less a margin.
func left(t *testing.T) time.Duration {
	if deadline, ok := t.Deadline(); ok {
		return max(time.Until(deadline)-5*time.Second, time.Second)
	}
	return 2 * time.Minute
}

// IP runs ip(8) and skips the test if it fails.
func IP(t *testing.T, args string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "ip", strings.Fields(args)...).CombinedOutput(); err != nil {
		t.Skipf("ip %s: %v: %s", args, err, out)
	}
}

// Own adds addresses to the loopback interface of this namespace.
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
