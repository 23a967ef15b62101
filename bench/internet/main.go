//go:build linux

// Command internet runs rdapq on a file of names against stand-ins for all RDAP servers in
// IANA's file of domains. They run in a network namespace, with a name server and certificates
// by server name. The servers are slow, speak HTTP/1.1, limit requests, sometimes fail, or
// never respond.
//
//	go run ./bench/internet              # 100,000 names, twice
//	go run ./bench/internet -names 20000
//
// A hash of the host name determines the behaviour of a server: see [profileOf]. The command
// prints the duration of each run, and the minimum time of the slowest server. A run lasts
// until the last row of a server that responds. It also prints the prediction of --dry-run, the
// use of quotas, refusals, failures by host, and the peak memory of rdapq. It exits with code 1
// if a bound is exceeded. The second run starts with the limits that the first run learned. The
// command needs root, and ip of iproute2.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// options holds the values of the flags.
type options struct {
	rdapq    string
	snapshot string
	names    int
	runs     int
	jobs     int
	ratio    float64
	memory   int
	keep     string
	maxWait  string
	windows  bool
}

func main() {
	var o options
	flag.StringVar(&o.rdapq, "rdapq", "", "the rdapq `command`; empty builds it")
	flag.StringVar(&o.snapshot, "snapshot", filepath.Join("bootstrap", "snapshot.json"), "read IANA's file of domains from `FILE`")
	flag.IntVar(&o.names, "names", 100_000, "write `N` lines of input")
	flag.IntVar(&o.runs, "runs", 2, "do `N` sequential runs with one state directory")
	flag.IntVar(&o.jobs, "jobs", 0, "--jobs of rdapq; 0 means its default")
	flag.Float64Var(&o.ratio, "ratio", 1.3, "maximum duration of the first run, as a multiple of the slowest server's minimum time")
	flag.IntVar(&o.memory, "max-memory", 96, "maximum memory of rdapq in `MiB`")
	flag.StringVar(&o.maxWait, "max-wait", "2m", "--max-wait of rdapq, which limits the time for a host that never responds")
	flag.StringVar(&o.keep, "keep", "", "keep the files in this `DIRECTORY`")
	flag.BoolVar(&o.windows, "windows", false, "print the windows of each quota that is measured: when they began, requests accepted and refused")
	flag.Parse()
	var err error
	switch flag.Arg(0) {
	case "":
		err = enter()
	case "inside":
		err = run(o)
	case "serve":
		err = serve(flag.Arg(1))
	default:
		flag.Usage()
		os.Exit(2)
	}
	if exit, ok := err.(*exec.ExitError); ok && flag.Arg(0) == "" {
		os.Exit(exit.ExitCode())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "internet:", err)
		os.Exit(1)
	}
}

// enter reruns this program in a new network namespace.
func enter() error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(exe, append(os.Args[1:], "inside")...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	return cmd.Run()
}

// network sets up the namespace: all addresses of 11.0.0.0/8 are local, and the server at
// dnsAddress resolves names. The namespace has no route outside.
func network(dir string) error {
	for _, args := range []string{
		"link set lo up",
		"route add local 11.0.0.0/8 dev lo",
	} {
		if out, err := exec.Command("ip", strings.Fields(args)...).CombinedOutput(); err != nil {
			return fmt.Errorf("ip %s: %w: %s", args, err, out)
		}
	}
	conf := filepath.Join(dir, "resolv.conf")
	if err := os.WriteFile(conf, []byte("nameserver "+dnsAddress+"\noptions attempts:3 timeout:2\n"), 0o644); err != nil {
		return err
	}
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("mount namespace: %w", err)
	}
	real, err := filepath.EvalSymlinks("/etc/resolv.conf")
	if err != nil {
		return err
	}
	return syscall.Mount(conf, real, "", syscall.MS_BIND, "")
}
