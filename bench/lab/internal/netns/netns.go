// Package netns creates named network namespaces and TUN devices inside them.
package netns

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	runDir = "/run/netns"
	etcDir = "/etc/netns"
)

// Add creates the named network namespace and brings its loopback up.
func Add(name string) error {
	if err := IP("netns", "add", name); err != nil {
		return err
	}
	return IP("-n", name, "link", "set", "lo", "up")
}

// Del removes the namespace and its /etc/netns files. The namespace need not exist.
func Del(name string) error {
	if err := os.RemoveAll(filepath.Join(etcDir, name)); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(runDir, name)); err != nil {
		return nil
	}
	return IP("netns", "del", name)
}

// IP runs the ip(8) command.
func IP(args ...string) error {
	out, err := exec.Command("ip", args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, bytes.TrimSpace(out))
	}
	return nil
}

// WriteEtc writes a file that processes started with Command see as /etc/<file>.
func WriteEtc(name, file, content string) error {
	dir := filepath.Join(etcDir, name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, file), []byte(content), 0o644)
}

// Command returns a command that runs argv inside the namespace.
func Command(name string, argv ...string) *exec.Cmd {
	return exec.Command("ip", append([]string{"netns", "exec", name}, argv...)...)
}

// Pids lists the processes that run inside the namespace.
func Pids(name string) []int {
	out, err := exec.Command("ip", "netns", "pids", name).Output()
	if err != nil {
		return nil
	}
	var pids []int
	for _, f := range strings.Fields(string(out)) {
		if pid, err := strconv.Atoi(f); err == nil && pid != os.Getpid() {
			pids = append(pids, pid)
		}
	}
	return pids
}

// Names lists the namespaces whose name has the prefix.
func Names(prefix string) []string {
	entries, err := os.ReadDir(runDir)
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) {
			names = append(names, e.Name())
		}
	}
	return names
}

// Do runs fn on an operating-system thread inside the namespace. The thread then ends. Sockets
// and files that fn opens stay in the namespace.
func Do(name string, fn func() error) error {
	errc := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked, so that the thread ends with the goroutine
		fd, err := unix.Open(filepath.Join(runDir, name), unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			errc <- fmt.Errorf("open netns %s: %w", name, err)
			return
		}
		defer unix.Close(fd)
		if err := unix.Setns(fd, unix.CLONE_NEWNET); err != nil {
			errc <- fmt.Errorf("setns %s: %w", name, err)
			return
		}
		errc <- fn()
	}()
	return <-errc
}

// Sysctl sets a net.* sysctl, given as a path below /proc/sys/net.
func Sysctl(name, path, value string) error {
	return Do(name, func() error {
		return os.WriteFile(filepath.Join("/proc/sys/net", path), []byte(value), 0o644)
	})
}

// OpenTUN creates a TUN device inside the namespace and returns its
// non-blocking descriptor. Every packet read from it or written to it starts
// with a 10-byte virtio-net header. With offload the kernel hands over
// unsegmented packets of up to 64 KiB.
func OpenTUN(name, dev string, offload bool) (int, error) {
	fd := -1
	err := Do(name, func() (err error) {
		if err := ensureTUNNode(); err != nil {
			return err
		}
		fd, err = unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("open /dev/net/tun: %w", err)
		}
		ifr, err := unix.NewIfreq(dev)
		if err != nil {
			return err
		}
		ifr.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI | unix.IFF_VNET_HDR)
		if err := ioctlPtr(fd, unix.TUNSETIFF, unsafe.Pointer(ifr)); err != nil {
			return fmt.Errorf("TUNSETIFF %s: %w", dev, err)
		}
		flags := 0
		if offload {
			const uso4, uso6 = 0x20, 0x40
			flags = unix.TUN_F_CSUM | unix.TUN_F_TSO4 | unix.TUN_F_TSO6 | uso4 | uso6
		}
		if err := unix.IoctlSetInt(fd, unix.TUNSETOFFLOAD, flags); err != nil {
			return fmt.Errorf("TUNSETOFFLOAD %s: %w", dev, err)
		}
		return nil
	})
	if err != nil && fd >= 0 {
		unix.Close(fd)
		fd = -1
	}
	return fd, err
}

func ensureTUNNode() error {
	if _, err := os.Stat("/dev/net/tun"); err == nil {
		return nil
	}
	if err := os.MkdirAll("/dev/net", 0o755); err != nil {
		return err
	}
	if err := unix.Mknod("/dev/net/tun", unix.S_IFCHR|0o600, int(unix.Mkdev(10, 200))); err != nil && !errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("mknod /dev/net/tun: %w", err)
	}
	return nil
}

func ioctlPtr(fd int, req uint, arg unsafe.Pointer) error {
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), uintptr(req), uintptr(arg)); errno != 0 {
		return errno
	}
	return nil
}
