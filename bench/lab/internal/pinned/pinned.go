// Package pinned runs a client and a server on one core each, without a link.
package pinned

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Numbers of the cores of the server and of the client.
const (
	Server = "0"
	Client = "1"
)

// Command returns a command that runs on a core and ends with the thread that starts
// it.
func Command(core string, argv ...string) *exec.Cmd {
	cmd := exec.Command("taskset", append([]string{"-c", core}, argv...)...)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: unix.SIGKILL}
	return cmd
}

// Await waits until an address accepts connections.
func Await(addr string) error {
	var err error
	for range 500 {
		var c net.Conn
		if c, err = net.Dial("tcp", addr); err == nil {
			return c.Close()
		}
		time.Sleep(10 * time.Millisecond)
	}
	return err
}

// Run runs cmd to its end, or kills it on a receive from stop. It returns its elapsed
// and CPU time.
func Run(cmd *exec.Cmd, stop <-chan os.Signal) (wall, cpu time.Duration, err error) {
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, 0, err
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case err = <-done:
	case <-stop:
		_ = cmd.Process.Kill()
		<-done
		err = errors.New("stopped")
	}
	return time.Since(start), cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), err
}
