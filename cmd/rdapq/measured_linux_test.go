package main

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"
)

// measuredFile is the variable with the output file of measured.
const measuredFile = "RDAPQ_TEST_PEAK"

// measured runs a command and writes its peak memory in bytes. It is a separate process
// because a new process inherits the peak of its parent, which is large for a test with
// servers.
func measured() {
	signal.Notify(make(chan os.Signal, 1), os.Interrupt) // the command would inherit an ignored SIGINT
	cmd := exec.Command(os.Args[1], os.Args[2:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		os.Exit(exitNoRun)
	}
	peak := int64(cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss) << 10
	if err := os.WriteFile(os.Getenv(measuredFile), strconv.AppendInt(nil, peak, 10), 0o600); err != nil {
		os.Exit(exitNoRun)
	}
	os.Exit(cmd.ProcessState.ExitCode())
}
