package order

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// row returns a row for the line. Rows have any length, and differ from line to line.
func row(line int64) string {
	return fmt.Sprintf("%d %s\n", line, strings.Repeat("x", int(line*7919%301)))
}

// TestQueue puts rows in any order within a window and announces lines before or after
// their rows.
func TestQueue(t *testing.T) {
	for _, kind := range []string{"memory", "temporary file", "file"} {
		t.Run(kind, func(t *testing.T) {
			var got, want strings.Builder
			c := Config{Dir: t.TempDir(), Emit: func(row []byte) error { got.Write(row); return nil }}
			if kind != "memory" {
				c.MaxMemory = 2000
			}
			if kind == "file" {
				c.Path = filepath.Join(c.Dir, "rows")
			}
			q := NewQueue(c)
			defer q.Close()
			q.disk.garbage = 3000
			r := rand.New(rand.NewPCG(3, 4))
			var lines []int64
			for line := int64(1); len(lines) < 5000; line += 1 + r.Int64N(3) {
				lines = append(lines, line)
				want.WriteString(row(line))
			}
			announced := 0
			announce := func(n int) {
				for ; announced < min(n, len(lines)); announced++ {
					if err := q.Announce(lines[announced]); err != nil {
						t.Fatal(err)
					}
				}
			}
			late := slices.Clone(lines)
			for i := range late { // rows are up to 100 positions early or late, and some are very late
				j := min(i+r.IntN(100), len(late)-1)
				late[i], late[j] = late[j], late[i]
			}
			late[10], late[4000] = late[4000], late[10]
			for i, line := range late {
				announce(i - 20 + r.IntN(100))
				if err := q.Put(line, []byte(row(line))); err != nil {
					t.Fatal(err)
				}
				if err := q.Put(line, []byte("twice")); err != nil {
					t.Fatal(err)
				}
				if i%100 == 0 && c.Path != "" {
					if err := q.Shrink(); err != nil {
						t.Fatal(err)
					}
				}
				if q.memory > max(c.MaxMemory, 0) && c.MaxMemory > 0 {
					t.Fatalf("%d bytes in memory", q.memory)
				}
			}
			announce(len(lines))
			if got.String() != want.String() {
				t.Errorf("%d bytes, want %d", got.Len(), want.Len())
			}
			if q.Waiting() != 0 || q.memory != 0 || q.lines.Len() != 0 {
				t.Errorf("%d waiting rows, %d bytes, %d lines", q.Waiting(), q.memory, q.lines.Len())
			}
			if err := q.Shrink(); err != nil || q.disk.size != 0 {
				t.Errorf("%d bytes in the file, %v", q.disk.size, err)
			}
			left, err := os.ReadDir(c.Dir)
			if err != nil || len(left) > 1 || len(left) == 1 && left[0].Name() != "rows" {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

// TestDrain emits waiting rows in order when a row never arrives.
func TestDrain(t *testing.T) {
	var got strings.Builder
	q := NewQueue(Config{Dir: t.TempDir(), MaxMemory: 300, Emit: func(row []byte) error { got.Write(row); return nil }})
	defer q.Close()
	for line := range int64(9) {
		if err := q.Announce(line + 1); err != nil {
			t.Fatal(err)
		}
	}
	for _, line := range []int64{20, 8, 1, 4, 6, 5, 9} {
		if err := q.Put(line, fmt.Appendln(nil, line)); err != nil {
			t.Fatal(err)
		}
	}
	if err := q.Drain(); err != nil || got.String() != "1\n4\n5\n6\n8\n9\n20\n" {
		t.Errorf("%q, %v", got.String(), err)
	}
}

// TestLoad resumes after another process was killed.
func TestLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows")
	if err := os.WriteFile(path, []byte("3\n5\n2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	q := NewQueue(Config{Path: path, Emit: func(row []byte) error { got.Write(row); return nil }})
	defer q.Close()
	for i, line := range []int64{3, 5, 2} {
		if err := q.Load(line, int64(2*i), 2); err != nil {
			t.Fatal(err)
		}
	}
	for line := range int64(5) {
		if err := q.Announce(line + 1); err != nil {
			t.Fatal(err)
		}
	}
	if err := q.Put(4, []byte("4\n")); err != nil {
		t.Fatal(err)
	}
	if err := q.Persist(); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "3\n5\n2\n4\n" {
		t.Errorf("the file holds %q, %v", data, err)
	}
	if err := q.Put(1, []byte("1\n")); err != nil || got.String() != "1\n2\n3\n4\n5\n" {
		t.Errorf("%q, %v", got.String(), err)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "3\n5\n2\n4\n" {
		t.Errorf("before it is shrunk the file holds %q, %v", data, err)
	}
	if err := q.Shrink(); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(path); err != nil || len(data) > 0 {
		t.Errorf("then it holds %q, %v", data, err)
	}
}

// TestCompact keeps waiting rows in the file at Config.Path.
func TestCompact(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows")
	var got strings.Builder
	q := NewQueue(Config{Path: path, Emit: func(row []byte) error { got.Write(row); return nil }})
	defer q.Close()
	q.disk.garbage = 10
	for line := range int64(100) {
		if err := q.Announce(line + 1); err != nil {
			t.Fatal(err)
		}
		if line > 0 && line != 89 {
			if err := q.Put(line+1, fmt.Appendln(nil, line+1)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := q.Persist(); err != nil {
		t.Fatal(err)
	}
	if err := q.Put(1, []byte("1\n")); err != nil {
		t.Fatal(err)
	}
	if err := q.Shrink(); err != nil {
		t.Fatal(err)
	}
	want := "91\n92\n93\n94\n95\n96\n97\n98\n99\n100\n"
	if data, err := os.ReadFile(path); err != nil || string(data) != want {
		t.Errorf("the file holds %q, %v", data, err)
	}
	if err := q.Put(90, []byte("90\n")); err != nil || !strings.HasSuffix(got.String(), "89\n90\n"+want) {
		t.Errorf("%q, %v", got.String(), err)
	}
}

// TestQueueMemory makes 400,000 rows of 100 bytes wait for one row. Memory must not grow with
// the number of rows.
func TestQueueMemory(t *testing.T) {
	n := int64(0)
	q := NewQueue(Config{Dir: t.TempDir(), MaxMemory: 1 << 20, Emit: func(row []byte) error { n += int64(len(row)); return nil }})
	defer q.Close()
	row := []byte(strings.Repeat("x", 99) + "\n")
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	const lines = 400_000
	for line := range int64(lines) {
		if err := q.Announce(line + 1); err != nil {
			t.Fatal(err)
		}
		if line > 0 {
			if err := q.Put(line+1, row); err != nil {
				t.Fatal(err)
			}
		}
	}
	if grown := int64(heap() - before); grown > 8<<20 {
		t.Errorf("%d bytes in memory for %d bytes of rows", grown, lines*len(row))
	}
	if err := q.Put(1, row); err != nil || n != int64(lines*len(row)) {
		t.Errorf("%d bytes emitted, %v", n, err)
	}
}
