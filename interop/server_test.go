//go:build unix

// Package interop_test tests against third-party servers from Debian packages, with usual
// operations: limits, reloads, restarts, new ticket keys. No lookup may fail, and the pool's
// counts must match those of the servers.
//
// The tests run if RDAPQ_INTEROP is 1, and skip servers that are not installed. Every server
// has its own configuration in a temporary directory, listens on loopback, and stops with its
// test. As root on Linux, the tests run in a separate network namespace and count packets.
//
// TestServers tests every feature of every server, and writes the table to the file in
// RDAPQ_INTEROP_TABLE (docs/interop.md).
package interop_test

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/pool"
)

// patience is the timeout for operations of a server. It suffices on a slow machine.
const patience = time.Minute

// need returns the path of a program, or skips the test if it is missing.
func need(t *testing.T, program string) string {
	t.Helper()
	if os.Getenv("RDAPQ_INTEROP") != "1" {
		t.Skip("RDAPQ_INTEROP=1 runs it")
	}
	path, err := exec.LookPath(program)
	if err != nil {
		t.Skipf("%s is not installed", program)
	}
	return path
}

// A server is a server program with its own directory.
type server struct {
	t     *testing.T
	dir   string
	ca    *rdaptest.CA
	base  string // base URL, which ends in a slash
	pools []*pool.Pool

	cmd  *exec.Cmd
	said *bytes.Buffer // output on standard error; complete after done
	done chan struct{}
}

// newServer creates the directory, with a certificate.
func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{t: t, dir: t.TempDir()}
	var err error
	if s.ca, err = rdaptest.NewCA(); err != nil {
		t.Fatal(err)
	}
	cert, err := s.ca.Certificate("127.0.0.1", "localhost")
	if err != nil {
		t.Fatal(err)
	}
	var chain bytes.Buffer
	for _, der := range cert.Certificate {
		if err := pem.Encode(&chain, &pem.Block{Type: "CERTIFICATE", Bytes: der}); err != nil {
			t.Fatal(err)
		}
	}
	key, err := x509.MarshalPKCS8PrivateKey(cert.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	s.write("server.pem", chain.Bytes())
	s.write("server.key", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}))
	s.write("ca.pem", s.ca.PEM())
	return s
}

func (s *server) write(file string, content []byte) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, file), content, 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// tail returns the end of a file, for messages of a failed test.
func (s *server) tail(file string) []byte {
	const enough = 4000
	text, err := os.ReadFile(filepath.Join(s.dir, file))
	if err != nil {
		return []byte(err.Error())
	}
	return text[max(0, len(text)-enough):]
}

// run starts the program and waits until it is ready.
func (s *server) run(cmd *exec.Cmd, ready func() bool) {
	s.t.Helper()
	s.cmd, s.said = cmd, new(bytes.Buffer)
	cmd.Stderr = s.said
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	done := make(chan struct{})
	s.done = done
	go func() {
		_ = cmd.Wait() // the program ended by a signal, or said has the reason
		close(done)
	}()
	s.until("it answers", func() bool {
		select {
		case <-done:
			s.t.Fatalf("the server ended: %s", s.said.String())
		default:
		}
		return ready()
	})
}

// stop ends the program.
func (s *server) stop(sig syscall.Signal) {
	s.t.Helper()
	_ = s.cmd.Process.Signal(sig) // fails if the process has ended
	select {
	case <-s.done:
	case <-time.After(patience):
		_ = s.cmd.Process.Kill()
		<-s.done
		s.t.Error("the server did not exit")
	}
}

// until waits for a condition.
func (s *server) until(what string, reached func() bool) {
	s.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if reached() {
			return
		}
	}
	s.t.Fatalf("waited %v until %s", patience, what)
}

// closePools closes all pools of the test.
func (s *server) closePools() {
	for _, p := range s.pools {
		p.Close()
	}
}

// gone reports whether a process has ended.
func gone(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }
