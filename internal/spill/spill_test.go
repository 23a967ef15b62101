package spill

import (
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
)

// A filedQueue is a queue connected with its file.
type filedQueue struct {
	Queue
	file      *File
	unwritten []write
}

// A write is a write that has begun, and ends with the next call of filedQueue.write. The chunk
// may be read before the end.
type write struct {
	to   *Chunk
	data []byte
}

func (s *filedQueue) put(record string) {
	if c := s.Push([]byte(record)); c != nil {
		s.unwritten = append(s.unwritten, write{c, c.Unwritten()})
	}
}

// write writes the pending chunks and returns the number of chunks that could not be written.
func (s *filedQueue) write() (failed int) {
	for _, w := range s.unwritten {
		switch at, err := s.file.Write(w.data); {
		case err != nil:
			failed++
		case !w.to.Written(at):
			s.file.Free(at, len(w.data))
		}
	}
	s.unwritten = nil
	return failed
}

func (s *filedQueue) take() (string, error) {
	if c := s.Next(); c != nil {
		data, err := s.file.Read(c, s.TakeBuffer())
		s.Loaded(c, data, err)
	}
	record, _, err := s.Pop()
	return string(record), err
}

// In any order of Push and Pop, records leave the queue in FIFO order, and free space in
// the file is reused.
func TestQueue(t *testing.T) {
	dir := t.TempDir()
	file := &File{Dir: dir}
	defer file.Close()
	random := rand.New(rand.NewPCG(1, 2))
	next, taken := 0, 0
	make1 := func(i int) string {
		record := strconv.Itoa(i) + ".example"
		switch {
		case i%5 == 1:
			return ""
		case i%1000 == 4:
			return record + strings.Repeat("x", 3*ChunkSize) // a record longer than a chunk
		}
		return record
	}
	s := filedQueue{file: file}
	for round := range 60 {
		for range random.IntN(4000) {
			s.put(make1(next))
			if random.IntN(4) > 0 { // otherwise the chunk may be read before it is written
				s.write()
			}
			next++
		}
		n := random.IntN(4000)
		if round%20 == 19 {
			n = int(s.n) // empty the queue
		}
		for range min(n, int(s.n)) {
			got, err := s.take()
			if want := make1(taken); err != nil || got != want {
				t.Fatalf("record %d: %.100q, %v; want %.100q", taken, got, err, want)
			}
			taken++
		}
		if s.n != int64(next-taken) {
			t.Fatalf("%d in the queue, want %d", s.n, next-taken)
		}
	}
	if taken < 50_000 || file.end > 10_000_000 {
		t.Errorf("%d records in a file of %d bytes", taken, file.end)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || file.named != (len(entries) == 1) {
		t.Errorf("%v left, named %v, %v", entries, file.named, err)
	}
	if err := file.Close(); err != nil {
		t.Error(err)
	}
	if entries, _ = os.ReadDir(dir); len(entries) != 0 {
		t.Errorf("%v left in the end", entries)
	}
}

// Chunks that cannot be written stay in memory, and an error is reported for each record
// that cannot be read back.
func TestQueueBroken(t *testing.T) {
	s := filedQueue{file: &File{Dir: "/nowhere/at/all"}}
	failed := 0
	for i := range 2000 {
		s.put(strconv.Itoa(i) + ".example")
		failed += s.write()
	}
	if failed == 0 || s.n != 2000 {
		t.Errorf("%d chunks failed, %d records in the queue", failed, s.n)
	}
	for i := range 2000 {
		if got, err := s.take(); err != nil || got != strconv.Itoa(i)+".example" {
			t.Fatal(got, err)
		}
	}
	file := &File{Dir: t.TempDir()}
	defer file.Close()
	s = filedQueue{file: file}
	for i := range 5000 {
		s.put(strconv.Itoa(i) + ".example")
	}
	if s.write() > 0 {
		t.Fatal(file.err)
	}
	if err := file.file.Truncate(ChunkSize); err != nil {
		t.Fatal(err)
	}
	good, lost := 0, 0
	for s.n > 0 {
		if _, err := s.take(); err != nil {
			lost++
		} else {
			good++
		}
	}
	if good+lost != 5000 || lost == 0 || good == 0 {
		t.Errorf("%d read, %d lost", good, lost)
	}
}
