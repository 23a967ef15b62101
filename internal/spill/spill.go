// Package spill implements FIFO queues whose middle is in a temporary file. It does not depend
// on the content of the records.
package spill

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"sync"
)

// A File is a temporary file of chunks. Only its owner may read it. On Unix its name is removed
// once it is open, so that nothing remains after a crash. The zero value is ready to use. A
// File is safe for concurrent use.
type File struct {
	Dir string // directory of the file; empty means os.TempDir

	mu    sync.Mutex
	file  *os.File
	named bool    // Close must remove the file
	err   error   // reason why the file cannot be used
	spare []int64 // offsets of chunks that have been read
	end   int64
}

// ChunkSize is the size of a chunk in bytes. A longer record gets a chunk of its own.
const ChunkSize = 8 << 10

// maxFile limits the file, in bytes.
const maxFile = 64 << 30

// A Chunk is a part of a Queue. Its data is in memory until it has been written to the file,
// and stays in memory if writing fails.
type Chunk struct {
	data           []byte // data in memory; nil means in the file
	offset         int64  // offset in the file
	size, n        int    // numbers of bytes and records
	readFromMemory bool   // the chunk was read before it was written
}

// FileSize returns the bytes that a chunk takes in the file.
func (c *Chunk) FileSize() int64 { return int64(max(c.size, ChunkSize)) }

// Unwritten returns the data to write to a File, or nil if the data need not be written.
func (c *Chunk) Unwritten() []byte {
	if c.readFromMemory {
		return nil
	}
	return c.data
}

// Written records the offset at which the data was written. It returns false if the
// chunk was read meanwhile, so that its space can be freed.
func (c *Chunk) Written(at int64) bool {
	if !c.readFromMemory {
		c.offset, c.data = at, nil
	}
	return !c.readFromMemory
}

// Write writes the data of a chunk and returns its offset.
func (s *File) Write(data []byte) (at int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil && s.err == nil {
		s.open()
	}
	if s.err != nil {
		return 0, s.err
	}
	at = s.end
	if k := len(s.spare) - 1; k >= 0 && len(data) <= ChunkSize {
		at, s.spare = s.spare[k], s.spare[:k]
	} else if s.end += int64(max(len(data), ChunkSize)); s.end > maxFile {
		s.err = errors.New("the file has grown too large")
		return 0, s.err
	}
	if _, err := s.file.WriteAt(data, at); err != nil {
		s.err = err // the disk is probably full; chunks in the file remain readable
		return 0, err
	}
	return at, nil
}

// Free frees the space of a chunk that was read from memory.
func (s *File) Free(at int64, size int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if size <= ChunkSize {
		s.spare = append(s.spare, at)
	}
}

func (s *File) open() {
	if s.file, s.err = os.CreateTemp(s.Dir, "rdapq-*.tmp"); s.err == nil {
		s.named = os.Remove(s.file.Name()) != nil
	}
}

// Read returns the data of a chunk that was written, in buf if the data fits, and frees the
// chunk's space in the file.
func (s *File) Read(c *Chunk, buf []byte) ([]byte, error) {
	at, size := c.offset, c.size
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		return nil, os.ErrClosed
	}
	if cap(buf) < size {
		buf = make([]byte, size)
	}
	buf = buf[:size]
	if _, err := s.file.ReadAt(buf, at); err != nil {
		return nil, err
	}
	if size <= ChunkSize {
		s.spare = append(s.spare, at)
	}
	return buf, nil
}

// Close removes the file. Later calls of Write and Read fail.
func (s *File) Close() error {
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

// A Queue is a FIFO queue of records with only its two ends in memory. It does no I/O itself,
// so that its user need not hold a lock during I/O. The user writes the chunks that Push
// returns, and reads the chunks that Next returns. The zero value is ready to use.
type Queue struct {
	n          int64    // number of records
	head       []byte   // data that Pop reads from
	buf        []byte   // backing array of head
	chunks     []*Chunk // chunks between head and tail
	tail       []byte   // data that Push appends to
	tailN      int
	unreadable int   // number of records of a chunk that could not be read; they precede head
	err        error // error of reading that chunk
}

// Len returns the number of records.
func (s *Queue) Len() int64 { return s.n }

// Push appends a record, which it copies. If the record completes a chunk, Push returns the
// chunk, which the caller must write.
func (s *Queue) Push(record []byte) (full *Chunk) {
	was := len(s.tail)
	s.tail = append(binary.AppendUvarint(s.tail, uint64(len(record))), record...)
	s.tailN++
	s.n++
	if len(s.tail) < ChunkSize {
		return nil
	}
	// The record that exceeds the size starts the next chunk, so that each chunk fits into the
	// space of any other chunk.
	size, n := len(s.tail), s.tailN
	if was > 0 && size > ChunkSize {
		size, n = was, n-1
	}
	full = &Chunk{data: bytes.Clone(s.tail[:size]), size: size, n: n}
	s.chunks = append(s.chunks, full)
	s.tail, s.tailN = append(s.tail[:0], s.tail[size:]...), s.tailN-n
	return full
}

// ErrUnreadable is wrapped by the errors of records that cannot be read.
var ErrUnreadable = errors.New("this input cannot be read back from the temporary file")

// Next returns the chunk that must be read from the file before Pop, or nil if no chunk must be
// read.
func (s *Queue) Next() *Chunk {
	if s.n == 0 || s.unreadable > 0 || len(s.head) > 0 || len(s.chunks) == 0 || s.chunks[0].data != nil {
		return nil
	}
	return s.chunks[0]
}

// TakeBuffer returns a buffer for File.Read, which may be nil.
func (s *Queue) TakeBuffer() []byte {
	buf := s.buf
	s.buf = nil
	return buf
}

// Loaded adds the content of the chunk that Next returned, or the error of reading that chunk.
func (s *Queue) Loaded(c *Chunk, data []byte, err error) {
	s.chunks = s.chunks[1:]
	if err != nil {
		s.unreadable, s.err = c.n, errors.Join(ErrUnreadable, err)
		return
	}
	s.buf, s.head = data, data
}

// Pop removes the first record and returns it. The record is valid until the next call of Pop.
// The queue must not be empty, and Next must return nil. begun is the chunk in memory whose
// first record Pop returned, or nil.
func (s *Queue) Pop() (record []byte, begun *Chunk, err error) {
	s.n--
	if s.unreadable > 0 {
		s.unreadable--
		return nil, nil, s.err
	}
	switch {
	case len(s.head) > 0:
	case len(s.chunks) > 0:
		begun = s.chunks[0]
		begun.readFromMemory = true
		s.chunks = s.chunks[1:]
		s.head, s.buf = begun.data, nil // the goroutine that writes the chunk may still use the data
	default:
		s.head, s.buf, s.tail, s.tailN = s.tail, s.tail, s.buf[:0], 0
	}
	size, k := binary.Uvarint(s.head)
	if k <= 0 || size > uint64(len(s.head)-k) {
		s.head, err = nil, ErrUnreadable
	} else {
		record, s.head = s.head[k:k+int(size)], s.head[k+int(size):]
	}
	if s.n == 0 {
		*s = Queue{}
	}
	return record, begun, err
}
