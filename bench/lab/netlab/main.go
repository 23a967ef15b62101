// Netlab runs a server and a client in two new network namespaces, joined by a link with a
// given round-trip time.
//
//	netlab -rtt 90ms -server 'nginx -c /tmp/lab/nginx.conf' -ready tcp:443 -- curl https://rdap.example/
//
// The names given with -names resolve to the server. Netlab exits with the client's exit
// status. It removes everything that it created, also after a signal. TCP uses cubic in the
// namespaces, whatever the default of the machine.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rdapq/rdapq/bench/lab/internal/lab"
)

func main() {
	runtime.LockOSThread() // see package lab
	var c lab.Config
	flag.DurationVar(&c.RTT, "rtt", 90*time.Millisecond, "round-trip `time` of the link")
	flag.Float64Var(&c.Loss, "loss", 0, "`percent` of the packets lost in each direction")
	flag.Uint64Var(&c.Seed, "seed", 1, "`seed` of the packet losses")
	names := flag.String("names", "rdap.example", "comma-separated host `names` of the server")
	server := flag.String("server", "", "`command` to run in the server's namespace, split at spaces")
	ready := flag.String("ready", "", "comma-separated `ports` (tcp:443) that the server opens before the client starts")
	timeout := flag.Duration("timeout", 10*time.Minute, "end everything after this `time`")
	stats := flag.String("stats", "", "write the counts of the link as JSON to `file`, - for standard error")
	flag.Parse()
	c.Names = strings.Split(*names, ",")

	code, err := run(c, strings.Fields(*server), *ready, flag.Args(), *timeout, *stats)
	if err != nil {
		fmt.Fprintln(os.Stderr, "netlab:", err)
	}
	os.Exit(code)
}

func run(c lab.Config, server []string, ready string, client []string, timeout time.Duration, stats string) (code int, err error) {
	if len(client) == 0 {
		return 2, errors.New("no client command")
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	l, err := lab.Start(c)
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	if len(server) > 0 {
		var ports []string
		if ready != "" {
			ports = strings.Split(ready, ",")
		}
		if err := l.Serve(server, ports...); err != nil {
			return 1, err
		}
	}
	cmd := exec.Command(client[0], client[1:]...)
	cmd.Stdin = os.Stdin
	err = l.Run(cmd, timeout, stop)
	if e := writeCounts(l, stats); e != nil {
		return 1, e
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() >= 0 {
		return exit.ExitCode(), nil
	}
	if err != nil {
		return 1, err
	}
	return 0, nil
}

func writeCounts(l *lab.Lab, file string) error {
	if file == "" {
		return nil
	}
	b, err := json.Marshal(l.Counts())
	if err != nil {
		return err
	}
	b = append(b, '\n')
	if file == "-" {
		_, err = os.Stderr.Write(b)
		return err
	}
	return os.WriteFile(file, b, 0o644)
}
