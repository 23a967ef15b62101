package client

import (
	"encoding/binary"
	"errors"
	"os"
	"sync"
)

// A spill is the temporary file of one batch, for inputs that wait for a slow
// server. It is private, and on Unix it has no name any more once it is open, so
// that nothing is left of it whatever becomes of the program.
type spill struct {
	dir string

	mu    sync.Mutex
	file  *os.File
	named bool    // it has to be removed when it is closed
	err   error   // why there is none
	spare []int64 // where chunks were that have been read
	end   int64
}

const (
	spillChunk = 16 << 10 // octets that are written at once
	maxSpill   = 64 << 30 // octets of the file
)

// A chunk is where a piece of a shelf is in the file.
type chunk struct {
	at      int64
	size, n int // octets, inputs
}

func (s *spill) write(data []byte, n int) (chunk, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil && s.err == nil {
		s.open()
	}
	if s.err != nil {
		return chunk{}, s.err
	}
	c := chunk{at: s.end, size: len(data), n: n}
	if k := len(s.spare) - 1; k >= 0 && len(data) <= spillChunk {
		c.at, s.spare = s.spare[k], s.spare[:k]
	} else if s.end += int64(max(len(data), spillChunk)); s.end > maxSpill {
		s.err = errors.New("it has grown too large")
		return chunk{}, s.err
	}
	if _, err := s.file.WriteAt(data, c.at); err != nil {
		s.err = err // the disk is full, most likely: what is in the file stays readable
		return chunk{}, err
	}
	return c, nil
}

func (s *spill) open() {
	if s.file, s.err = os.CreateTemp(s.dir, "rdapq-*.tmp"); s.err == nil {
		s.named = os.Remove(s.file.Name()) != nil
	}
}

// read returns a chunk in buf, or in place of it, and gives its place back.
func (s *spill) read(c chunk, buf []byte) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if cap(buf) < c.size {
		buf = make([]byte, c.size)
	}
	buf = buf[:c.size]
	if _, err := s.file.ReadAt(buf, c.at); err != nil {
		return nil, err
	}
	if c.size <= spillChunk {
		s.spare = append(s.spare, c.at)
	}
	return buf, nil
}

func (s *spill) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		return nil
	}
	err := s.file.Close()
	if s.named {
		err = errors.Join(err, os.Remove(s.file.Name()))
	}
	s.file, s.err = nil, os.ErrClosed
	return err
}

// A shelf is a queue of inputs of which only the two ends are in memory.
type shelf struct {
	n      int64   // inputs on it
	head   []byte  // being read
	buf    []byte  // what head is a part of
	chunks []chunk // in the file
	tail   []byte  // being written
	tailN  int
}

// put puts an input at the end of the shelf. After an error it is not on it.
func (s *shelf) put(in Input, file *spill) error {
	was := len(s.tail)
	s.tail = appendInput(s.tail, in)
	s.tailN++
	s.n++
	if len(s.tail) < spillChunk {
		return nil
	}
	// The input that made it too long begins the next chunk, so that chunks
	// fit into one another's places.
	data, n := s.tail, s.tailN
	if was > 0 && len(data) > spillChunk {
		data, n = data[:was], n-1
	}
	c, err := file.write(data, n)
	if err != nil {
		s.tail, s.tailN, s.n = s.tail[:was], s.tailN-1, s.n-1
		return err
	}
	s.chunks = append(s.chunks, c)
	s.tail, s.tailN = append(s.tail[:0], s.tail[len(data):]...), s.tailN-n
	return nil
}

var errSpill = errors.New("the temporary file with this input cannot be read any more")

// take takes the first input from the shelf, which is not empty. The input of an
// error has nothing in it.
func (s *shelf) take(file *spill) (in Input, err error) {
	if len(s.head) == 0 {
		if err = s.turn(file); err != nil {
			return Input{}, err
		}
	}
	s.n--
	in, rest, ok := cutInput(s.head)
	if !ok {
		rest, err = nil, errSpill
	}
	if s.head = rest; s.n == 0 {
		*s = shelf{}
	}
	return in, err
}

// turn makes the next chunk the head.
func (s *shelf) turn(file *spill) error {
	if len(s.chunks) == 0 {
		s.buf, s.tail = s.tail, s.buf[:0]
		s.head, s.tailN = s.buf, 0
		return nil
	}
	c := s.chunks[0]
	if c.n == 0 { // the rest of a chunk that could not be read
		s.chunks = s.chunks[1:]
		return s.turn(file)
	}
	buf, err := file.read(c, s.buf)
	if err != nil {
		// One error for each input that was in it.
		s.chunks[0].n--
		s.n--
		return errors.Join(errSpill, err)
	}
	s.chunks = s.chunks[1:]
	s.buf, s.head = buf, buf
	return nil
}

func appendInput(b []byte, in Input) []byte {
	b = binary.AppendVarint(b, in.Line)
	for _, s := range []string{string(in.Type), in.Text, in.Server} {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	if in.Extra == nil {
		return append(b, 0)
	}
	b = binary.AppendUvarint(b, uint64(len(in.Extra))+1)
	return append(b, in.Extra...)
}

func cutInput(b []byte) (in Input, rest []byte, ok bool) {
	line, n := binary.Varint(b)
	if n <= 0 {
		return in, nil, false
	}
	in.Line, b = line, b[n:]
	var typ string
	for _, s := range []*string{&typ, &in.Text, &in.Server} {
		if b, ok = cutString(b, s, 0); !ok {
			return in, nil, false
		}
	}
	in.Type = Type(typ)
	if len(b) > 0 && b[0] == 0 {
		return in, b[1:], true
	}
	var extra string
	if b, ok = cutString(b, &extra, 1); ok {
		in.Extra = []byte(extra)
	}
	return in, b, ok
}

func cutString(b []byte, s *string, less uint64) (rest []byte, ok bool) {
	size, n := binary.Uvarint(b)
	if n <= 0 || size < less || size-less > uint64(len(b)-n) {
		return nil, false
	}
	size -= less
	*s = string(b[n : n+int(size)])
	return b[n+int(size):], true
}
