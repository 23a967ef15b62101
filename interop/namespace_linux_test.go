package interop_test

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// inNamespace is set if the tests run in a separate network namespace.
const inNamespace = "RDAPQ_INTEROP_NAMESPACE"

// TestMain runs the tests in a separate network namespace if possible. The namespace has only
// loopback, so that the tests can count its packets and change its settings.
func TestMain(m *testing.M) {
	if os.Getenv("RDAPQ_INTEROP") == "1" {
		if err := isolate(); err != nil {
			fmt.Fprintln(os.Stderr, "no network namespace:", err)
		}
	}
	os.Exit(m.Run())
}

// isolate restarts the program in a namespace, or sets up the current one.
func isolate() error {
	if os.Getenv(inNamespace) != "" {
		return loopbackUp()
	}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	runtime.LockOSThread() // exec preserves the namespace of its thread
	defer runtime.UnlockOSThread()
	if err := syscall.Unshare(syscall.CLONE_NEWNET); err != nil {
		return err
	}
	return syscall.Exec(exe, os.Args, append(os.Environ(), inNamespace+"=1"))
}

func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo)
}

// isolated reports whether the tests run in their own namespace.
func isolated() bool { return os.Getenv(inNamespace) != "" }

// Values of net.ipv4.tcp_fastopen for clients and servers, per listener or for all.
const (
	fastOpenOnRequest = 0x3
	fastOpenForAll    = 0x403
)

// setFastOpen changes the setting for new listeners.
func setFastOpen(v int) error {
	return os.WriteFile("/proc/sys/net/ipv4/tcp_fastopen", fmt.Append(nil, v), 0o644)
}
