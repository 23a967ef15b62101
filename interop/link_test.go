//go:build unix

package interop_test

import (
	"bufio"
	"encoding/json"
	"io"
	"os/exec"
	"path/filepath"
	"testing"
)

// A link counts the packets on loopback, independent of client and server.
type link struct {
	in  io.WriteCloser
	out *bufio.Scanner
}

// linkCounts is the output of the tap; see bench/lab.
type linkCounts struct {
	SYN        int64 `json:"syn"`
	SYNData    int64 `json:"syn_data"`
	TFOAcked   int64 `json:"tfo_acked"`
	Full       int64 `json:"tls_full"`
	Resumed    int64 `json:"tls_resumed"`
	QUICConns  int64 `json:"quic_conns"`
	QUICFull   int64 `json:"quic_full"`
	QUICResume int64 `json:"quic_resumed"`
	Missed     int64 `json:"missed"`
}

func (c linkCounts) since(before linkCounts) linkCounts {
	return linkCounts{
		SYN: c.SYN - before.SYN, SYNData: c.SYNData - before.SYNData, TFOAcked: c.TFOAcked - before.TFOAcked,
		Full: c.Full - before.Full, Resumed: c.Resumed - before.Resumed,
		QUICConns: c.QUICConns - before.QUICConns, QUICFull: c.QUICFull - before.QUICFull, QUICResume: c.QUICResume - before.QUICResume,
		Missed: c.Missed - before.Missed,
	}
}

// tapLink starts counting. It returns nil outside a namespace of the tests.
func tapLink(t *testing.T) *link {
	t.Helper()
	if !isolated() {
		return nil
	}
	file := filepath.Join(t.TempDir(), "tap")
	build := exec.Command("go", "build", "-o", file, "./tap")
	build.Dir = filepath.Join("..", "bench", "lab")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	cmd := exec.Command(file, "-below", "32768")
	cmd.Stderr = t.Output()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Error("tap:", err)
		}
	})
	l := &link{in: in, out: bufio.NewScanner(out)}
	l.read(t) // an empty report means ready
	return l
}

// counts returns the current counts.
func (l *link) counts(t *testing.T) linkCounts {
	t.Helper()
	if l == nil {
		return linkCounts{}
	}
	if _, err := io.WriteString(l.in, "\n"); err != nil {
		t.Fatal(err)
	}
	return l.read(t)
}

func (l *link) read(t *testing.T) (c linkCounts) {
	t.Helper()
	if !l.out.Scan() {
		t.Fatal("tap has ended: ", l.out.Err())
	}
	if err := json.Unmarshal(l.out.Bytes(), &c); err != nil {
		t.Fatal(err)
	}
	return c
}
