package client

import (
	"math/rand/v2"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// A filedQueue is a disk queue with its file, as a queue uses them.
type filedQueue struct {
	diskQueue
	file      *spillFile
	unwritten []*chunk
}

func (s *filedQueue) put(in Input) {
	if c := s.diskQueue.push(in); c != nil {
		s.unwritten = append(s.unwritten, c)
	}
}

// write writes what is to be written, and returns how many chunks could not be.
func (s *filedQueue) write() (failed int) {
	for _, c := range s.unwritten {
		switch at, err := s.file.write(c.data); {
		case err != nil:
			failed++
		case c.readFromMemory:
			s.file.free(at, c.size)
		default:
			c.offset, c.data = at, nil
		}
	}
	s.unwritten = nil
	return failed
}

func (s *filedQueue) take() (Input, error) {
	if c := s.nextOnDisk(); c != nil {
		data, err := s.file.read(c.offset, c.size, s.buf)
		s.loaded(c, data, err)
	}
	in, _, err := s.diskQueue.pop()
	return in, err
}

// TestDiskQueue: whatever the order of putting and taking, inputs come out as they
// went in, and places in the file are used again.
func TestDiskQueue(t *testing.T) {
	dir := t.TempDir()
	file := &spillFile{dir: dir}
	defer file.close()
	random := rand.New(rand.NewPCG(1, 2))
	next, taken := 0, 0
	make1 := func(i int) Input {
		in := Input{Line: int64(i), Text: "name" + strconv.Itoa(i) + ".example"}
		switch i % 5 {
		case 1:
			in.Extra = []byte{}
		case 2:
			in.Extra, in.Type = []byte("extra\n\x00"), TypeDomain
		case 3:
			in.Server = "https://rdap.example/"
		case 4:
			if i%1000 == 4 {
				in.Text = strings.Repeat("x", 3*spillChunk) // longer than a chunk
			}
		}
		return in
	}
	s := filedQueue{file: file}
	for round := range 60 {
		for range random.IntN(4000) {
			s.put(make1(next))
			if random.IntN(4) > 0 { // else it is read before it is written, perhaps
				s.write()
			}
			next++
		}
		n := random.IntN(4000)
		if round%20 == 19 {
			n = int(s.n) // empty it
		}
		for range min(n, int(s.n)) {
			in, err := s.take()
			if want := make1(taken); err != nil || !reflect.DeepEqual(in, want) {
				t.Fatalf("input %d: %.100v, %v; want %.100v", taken, in, err, want)
			}
			taken++
		}
		if s.n != int64(next-taken) {
			t.Fatalf("%d in the queue, want %d", s.n, next-taken)
		}
	}
	if taken < 50_000 || file.end > 10_000_000 {
		t.Errorf("%d inputs in a file of %d octets", taken, file.end)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || file.named != (len(entries) == 1) {
		t.Errorf("%v left, named %v, %v", entries, file.named, err)
	}
	if err := file.close(); err != nil {
		t.Error(err)
	}
	if entries, _ = os.ReadDir(dir); len(entries) != 0 {
		t.Errorf("%v left in the end", entries)
	}
}

// TestDiskQueueBroken: what cannot be written stays in memory, and what cannot be read
// back is reported for each input.
func TestDiskQueueBroken(t *testing.T) {
	s := filedQueue{file: &spillFile{dir: "/nowhere/at/all"}}
	failed := 0
	for i := range 2000 {
		s.put(Input{Line: int64(i), Text: "name.example"})
		failed += s.write()
	}
	if failed == 0 || s.n != 2000 {
		t.Errorf("%d chunks failed, %d inputs in the queue", failed, s.n)
	}
	for i := range 2000 {
		if in, err := s.take(); err != nil || in.Line != int64(i) {
			t.Fatal(in, err)
		}
	}
	file := &spillFile{dir: t.TempDir()}
	defer file.close()
	s = filedQueue{file: file}
	for i := range 5000 {
		s.put(Input{Line: int64(i), Text: "name.example"})
	}
	if s.write() > 0 {
		t.Fatal(file.err)
	}
	if err := file.file.Truncate(spillChunk); err != nil {
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
