package lab

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rdapq/rdapq/bench/lab/internal/netns"
)

// A process is a process started by the lab.
type process struct {
	cmd  *exec.Cmd
	done chan struct{}
	err  error // set after done is closed
}

// startIn starts cmd inside the namespace. If cmd has no outputs, it gets those of this
// process.
func startIn(ns string, cmd *exec.Cmd) (*process, error) {
	inside := netns.Command(ns, cmd.Args...)
	inside.Env, inside.Dir = cmd.Env, cmd.Dir
	inside.Stdin, inside.Stdout, inside.Stderr = cmd.Stdin, cmd.Stdout, cmd.Stderr
	if inside.Stdout == nil {
		inside.Stdout = os.Stdout
	}
	if inside.Stderr == nil {
		inside.Stderr = os.Stderr
	}
	inside.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: unix.SIGKILL}
	if err := inside.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: inside, done: make(chan struct{})}
	go func() {
		p.err = inside.Wait()
		close(p.done)
	}()
	return p, nil
}

// end stops the process and its group, first with SIGTERM.
func (p *process) end() {
	group := -p.cmd.Process.Pid
	for _, s := range []unix.Signal{unix.SIGTERM, unix.SIGKILL} {
		if errors.Is(unix.Kill(group, s), unix.ESRCH) {
			break
		}
		select {
		case <-p.done:
		case <-time.After(2 * time.Second):
		}
	}
	<-p.done
}

// endAll kills the remaining processes in a namespace.
func endAll(ns string) {
	for _, signal := range []unix.Signal{unix.SIGTERM, unix.SIGKILL} {
		for range 20 {
			pids := netns.Pids(ns)
			if len(pids) == 0 {
				return
			}
			for _, pid := range pids {
				_ = unix.Kill(pid, signal) // the process may have ended
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
}

// readyLimit is the timeout for a server to listen.
const readyLimit = 15 * time.Second

// waitReady waits until the server listens on the ports.
func waitReady(ns string, ports []string, server *process) error {
	end := time.Now().Add(readyLimit)
	for _, port := range ports {
		protocol, digits, _ := strings.Cut(port, ":")
		number, err := strconv.Atoi(digits)
		if err != nil || protocol != "tcp" && protocol != "udp" {
			return fmt.Errorf("%q is not tcp:port or udp:port", port)
		}
		for {
			var listens bool
			if err := netns.Do(ns, func() error { listens = portOpen(protocol, number); return nil }); err != nil {
				return err
			}
			if listens {
				break
			}
			select {
			case <-server.done:
				return fmt.Errorf("server ended before it was ready: %w", server.err)
			case <-time.After(10 * time.Millisecond):
			}
			if time.Now().After(end) {
				return fmt.Errorf("server did not listen on %s within %v", port, readyLimit)
			}
		}
	}
	return nil
}

// portOpen looks for the port in the socket tables of the calling thread's namespace. This
// affects neither the server nor the counts.
func portOpen(protocol string, port int) bool {
	suffix := fmt.Sprintf(":%04X", port)
	state := map[string]string{"tcp": "0A", "udp": "07"}[protocol]
	for _, version := range []string{"", "6"} {
		table, err := os.ReadFile("/proc/thread-self/net/" + protocol + version)
		if err != nil {
			continue // the machine has no IPv6
		}
		for line := range strings.Lines(string(table)) {
			f := strings.Fields(line)
			if len(f) > 3 && strings.HasSuffix(f[1], suffix) && f[3] == state {
				return true
			}
		}
	}
	return false
}
