// Package lab runs a server and a client in separate network namespaces, joined by a link with
// a given round-trip time. It needs Linux and root.
//
// Its processes end with the thread that started them, so that a killed lab leaves no processes
// behind. Therefore a program must call [runtime.LockOSThread] at the beginning of main, and
// Start, Serve and Run only from there.
package lab

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rdapq/rdapq/bench/lab/internal/link"
	"github.com/rdapq/rdapq/bench/lab/internal/netns"
	"github.com/rdapq/rdapq/bench/lab/internal/wire"
)

// Addresses come from the block set aside for benchmarks (RFC 2544).
const (
	ServerIP = "198.18.0.1"
	ClientIP = "198.18.0.2"
)

const (
	device = "lab0"
	prefix = "rdapqlab-" // prefix of the names of namespaces
)

// A Config describes a lab.
type Config struct {
	RTT   time.Duration // round-trip time of the link
	Loss  float64       // percentage of packets lost in each direction
	Seed  uint64        // seed of the losses
	Names []string      // host names that resolve to ServerIP on both sides
}

// A Lab is a pair of namespaces and the link between them.
type Lab struct {
	client, server string // names of the namespaces
	fds            []int
	link           *link.Link
	counter        wire.Counter
	servers        []*process
}

// Start creates a lab. A process may have one lab at a time, and must close it. Start first
// removes the remains of killed labs.
func Start(c Config) (*Lab, error) {
	removeStale()
	l := &Lab{
		client: fmt.Sprintf("%sc%d", prefix, os.Getpid()),
		server: fmt.Sprintf("%ss%d", prefix, os.Getpid()),
	}
	if err := l.start(c); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

func (l *Lab) start(c Config) error {
	for _, side := range []struct{ ns, ip string }{{l.client, ClientIP}, {l.server, ServerIP}} {
		// Do not offload if packets get lost: an unsegmented packet would be lost as a whole.
		fd, err := setUp(side.ns, side.ip, c.Loss == 0)
		if fd >= 0 {
			l.fds = append(l.fds, fd)
		}
		if err != nil {
			return err
		}
		hosts := "127.0.0.1 localhost\n::1 localhost\n"
		for _, name := range c.Names {
			hosts += ServerIP + " " + name + "\n"
		}
		for file, content := range map[string]string{
			"hosts": hosts, "nsswitch.conf": "hosts: files\n", "resolv.conf": "",
		} {
			if err := netns.WriteEtc(side.ns, file, content); err != nil {
				return err
			}
		}
	}
	var err error
	l.link, err = link.New(l.fds[0], l.fds[1], link.Config{
		Delay: c.RTT / 2, Loss: c.Loss / 100, Seed: c.Seed, Trace: &l.counter,
	})
	return err
}

// Counts returns the current counts of the link.
func (l *Lab) Counts() wire.Counts { return l.counter.Counts() }

// Forget clears the state of both kernels: Fast Open cookies, round-trip times,
// congestion windows.
func (l *Lab) Forget() error {
	return errors.Join(
		netns.IP("-n", l.client, "tcp_metrics", "flush", "all"),
		netns.IP("-n", l.server, "tcp_metrics", "flush", "all"))
}

// Serve starts a server and waits until it listens on the ports, written "tcp:443" or
// "udp:443". The server ends with the lab.
func (l *Lab) Serve(cmd []string, ports ...string) error {
	p, err := startIn(l.server, exec.Command(cmd[0], cmd[1:]...))
	if err != nil {
		return err
	}
	l.servers = append(l.servers, p)
	return waitReady(l.server, ports, p)
}

// ErrStopped is the error of a Run that was stopped.
var ErrStopped = errors.New("stopped")

// Run runs cmd on the client's side, in a new process group, and waits for it. Run kills cmd
// after the limit, or on a receive from stop.
func (l *Lab) Run(cmd *exec.Cmd, limit time.Duration, stop <-chan os.Signal) error {
	p, err := startIn(l.client, cmd)
	if err != nil {
		return err
	}
	defer p.end()
	select {
	case <-p.done:
		return p.err
	case s := <-stop:
		return fmt.Errorf("%w: %v", ErrStopped, s)
	case <-time.After(limit):
		return fmt.Errorf("still running after %v", limit)
	}
}

// Close stops the servers and removes the namespaces.
func (l *Lab) Close() error {
	for _, p := range l.servers {
		p.end()
	}
	if l.link != nil {
		l.link.Close()
	}
	for _, fd := range l.fds {
		unix.Close(fd)
	}
	return errors.Join(remove(l.client), remove(l.server))
}

func remove(ns string) error {
	endAll(ns)
	return netns.Del(ns)
}

// removeStale removes the namespaces of labs that were killed.
func removeStale() {
	for _, ns := range netns.Names(prefix) {
		pid, err := strconv.Atoi(strings.TrimLeft(strings.TrimPrefix(ns, prefix), "cs"))
		if err == nil && errors.Is(unix.Kill(pid, 0), unix.ESRCH) {
			_ = remove(ns) // ignore errors: the lab does not require the removal
		}
	}
}

// setUp creates a namespace and returns its end of the link.
func setUp(ns, ip string, offload bool) (fd int, err error) {
	if err := netns.Add(ns); err != nil {
		return -1, err
	}
	if fd, err = netns.OpenTUN(ns, device, offload); err != nil {
		return -1, err
	}
	for _, args := range [][]string{
		{"link", "set", device, "mtu", "1500", "txqueuelen", "10000", "up"},
		{"addr", "add", ip + "/24", "dev", device},
		{"route", "add", "default", "dev", device},
	} {
		if err := netns.IP(append([]string{"-n", ns}, args...)...); err != nil {
			return fd, err
		}
	}
	for _, setting := range [][2]string{
		{"ipv4/tcp_fastopen", "3"},
		{"ipv4/tcp_fastopen_blackhole_timeout_sec", "0"},
		{"ipv4/ip_local_port_range", "10000 65000"},
		{"ipv4/tcp_tw_reuse", "1"},
		{"ipv4/tcp_max_syn_backlog", "16384"},
		{"core/somaxconn", "16384"},
	} {
		if err := netns.Sysctl(ns, setting[0], setting[1]); err != nil {
			return fd, err
		}
	}
	return fd, setCubic(ns)
}

// setCubic sets the namespace's congestion control to cubic. The default of some machines, bbr,
// slows traffic without a real link by up to 25 times. Outside the initial namespace the
// default must be an allowed algorithm, so setCubic adds cubic to that list if necessary.
func setCubic(ns string) error {
	const setting, cubic = "ipv4/tcp_congestion_control", "cubic"
	err := netns.Sysctl(ns, setting, cubic)
	if !errors.Is(err, unix.EPERM) {
		return err
	}
	const list = "/proc/sys/net/ipv4/tcp_allowed_congestion_control"
	allowed, err := os.ReadFile(list)
	if err != nil {
		return err
	}
	if err := os.WriteFile(list, []byte(strings.TrimSpace(string(allowed))+" "+cubic), 0o644); err != nil {
		return err
	}
	return netns.Sysctl(ns, setting, cubic)
}
