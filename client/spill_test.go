package client

import (
	"math/rand/v2"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// TestShelf: whatever the order of putting and taking, inputs come out as they
// went in, and places in the file are used again.
func TestShelf(t *testing.T) {
	dir := t.TempDir()
	file := &spill{dir: dir}
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
	var s shelf
	for round := range 60 {
		for range random.IntN(4000) {
			if err := s.put(make1(next), file); err != nil {
				t.Fatal(err)
			}
			next++
		}
		n := random.IntN(4000)
		if round%20 == 19 {
			n = int(s.n) // empty it
		}
		for range min(n, int(s.n)) {
			in, err := s.take(file)
			if want := make1(taken); err != nil || !reflect.DeepEqual(in, want) {
				t.Fatalf("input %d: %.100v, %v; want %.100v", taken, in, err, want)
			}
			taken++
		}
		if s.n != int64(next-taken) {
			t.Fatalf("%d on the shelf, want %d", s.n, next-taken)
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

// TestShelfBroken: an input that cannot be put is not on the shelf, and one that
// cannot be read back is told of.
func TestShelfBroken(t *testing.T) {
	nowhere := &spill{dir: "/nowhere/at/all"}
	var s shelf
	put, failed := 0, 0
	for range 2000 {
		if err := s.put(Input{Text: "name.example"}, nowhere); err != nil {
			failed++
		} else {
			put++
		}
	}
	if failed == 0 || s.n != int64(put) {
		t.Errorf("%d put, %d failed, %d on the shelf", put, failed, s.n)
	}
	for s.n > 0 {
		if in, err := s.take(nowhere); err != nil || in.Text != "name.example" {
			t.Fatal(in, err)
		}
	}
	file := &spill{dir: t.TempDir()}
	defer file.close()
	for i := range 5000 {
		if err := s.put(Input{Line: int64(i), Text: "name.example"}, file); err != nil {
			t.Fatal(err)
		}
	}
	if err := file.file.Truncate(spillChunk); err != nil {
		t.Fatal(err)
	}
	good, lost := 0, 0
	for s.n > 0 {
		if _, err := s.take(file); err != nil {
			lost++
		} else {
			good++
		}
	}
	if good+lost != 5000 || lost == 0 || good == 0 {
		t.Errorf("%d read, %d lost", good, lost)
	}
}
