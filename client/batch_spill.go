package client

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"sync"
)

// The temporary file is read and written without the lock of the queue, and warnings
// are logged without it: a disk may be slow, and a Logger may call back into the Client.

// spillInput appends a new input to the disk queue of its host. It returns false if
// the file is full.
func (q *queue) spillInput(l *hostQueue, it *item) bool {
	if !q.fileHasRoom() {
		return false
	}
	q.noteChunk(l.disk.push(it.input))
	q.waiting++
	q.spilledInputs++
	q.wakeHost(l)
	return true
}

// noteChunk adds a chunk to those to be written, unless it is nil.
func (q *queue) noteChunk(c *chunk) {
	if c != nil {
		q.unwritten = append(q.unwritten, c)
		q.diskBytes += c.fileSize()
	}
}

// fileHasRoom reports whether the file may grow by one chunk. If not, it warns once.
func (q *queue) fileHasRoom() bool {
	if q.diskBytes+spillChunk <= q.maxSpill {
		return true
	}
	q.warnPaused("the temporary file for queued inputs is full: reading pauses until some are sent", "bytes", q.maxSpill)
	return false
}

// warnPaused warns once that reading pauses.
func (q *queue) warnPaused(message string, args ...any) {
	if !q.paused {
		q.paused = true
		q.warn(message, args...)
	}
}

// warn queues a warning for flushPending.
func (q *queue) warn(message string, args ...any) {
	if q.log != nil {
		q.warnings = append(q.warnings, func() { q.log(message, args...) })
	}
}

// flushPending writes chunks and logs warnings. The lock is held on entry and on return,
// and released for that.
func (q *queue) flushPending() {
	for len(q.unwritten) > 0 || len(q.warnings) > 0 {
		if len(q.warnings) > 0 {
			warn := q.warnings[0]
			q.warnings = q.warnings[1:]
			q.unlocked(warn)
			continue
		}
		c := q.unwritten[0]
		q.unwritten = q.unwritten[1:]
		if c.readFromMemory || q.spillErr != nil {
			continue // it is read from memory
		}
		var at int64
		var err error
		data := c.data
		q.unlocked(func() { at, err = q.spill.write(data) })
		switch {
		case err != nil:
			if q.spillErr == nil {
				q.spillErr = err
				q.warn("cannot write the temporary file for queued inputs: one slow server may delay all others", "error", err)
			}
		case c.readFromMemory:
			q.spill.free(at, c.size)
		default:
			c.offset, c.data = at, nil
		}
	}
}

// unlocked calls f with the lock released, and locks again even if f panics.
func (q *queue) unlocked(f func()) {
	q.mu.Unlock()
	defer q.mu.Lock()
	f()
}

// loadChunk reads the next chunk of l, which is not made ready meanwhile.
func (q *queue) loadChunk(l *hostQueue, c *chunk) {
	l.loading = true
	at, size, buf := c.offset, c.size, l.disk.buf
	l.disk.buf = nil
	var data []byte
	var err error
	q.unlocked(func() { data, err = q.spill.read(at, size, buf) })
	l.loading = false
	if q.abandoned {
		return
	}
	q.diskBytes -= c.fileSize()
	l.disk.loaded(c, data, err)
	q.roomFreed.Signal()
	q.makeReady(l)
}

// popSpilled removes the next input from the disk queue of l.
func (q *queue) popSpilled(l *hostQueue) *item {
	in, begun, err := l.disk.pop()
	if begun != nil {
		q.diskBytes -= begun.fileSize()
		q.roomFreed.Signal()
	}
	it := &item{input: in}
	it.result = &Result{Line: in.Line, Extra: in.Extra}
	if err != nil {
		it.readError = &Error{Code: CodeInput, Message: err.Error(), Err: err}
	}
	return it
}

// A spillFile is the temporary file of one batch, for inputs of slow servers. It is
// private. On Unix it is unlinked once it is open, so that nothing remains after a
// crash.
type spillFile struct {
	dir string

	mu    sync.Mutex
	file  *os.File
	named bool    // it must be removed on close
	err   error   // why it cannot be used
	spare []int64 // offsets of chunks that have been read
	end   int64
}

const (
	spillChunk = 8 << 10  // bytes of a chunk
	maxSpill   = 64 << 30 // bytes of the file, even if Config.MaxSpill is greater
)

// A chunk is a part of a disk queue: in memory until it has been written, and then in
// the file. If writing fails it stays in memory. The lock of the queue guards it.
type chunk struct {
	data           []byte // nil: it is in the file
	offset         int64  // in the file
	size, n        int    // bytes, inputs
	readFromMemory bool   // it was read before it was written
}

// fileSize returns the bytes that a chunk takes in the file.
func (c *chunk) fileSize() int64 { return int64(max(c.size, spillChunk)) }

// write writes a chunk and returns its offset.
func (s *spillFile) write(data []byte) (at int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil && s.err == nil {
		s.open()
	}
	if s.err != nil {
		return 0, s.err
	}
	at = s.end
	if k := len(s.spare) - 1; k >= 0 && len(data) <= spillChunk {
		at, s.spare = s.spare[k], s.spare[:k]
	} else if s.end += int64(max(len(data), spillChunk)); s.end > maxSpill {
		s.err = errors.New("it has grown too large")
		return 0, s.err
	}
	if _, err := s.file.WriteAt(data, at); err != nil {
		s.err = err // probably a full disk: chunks in the file remain readable
		return 0, err
	}
	return at, nil
}

// free frees the space of a chunk that was read from memory.
func (s *spillFile) free(at int64, size int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if size <= spillChunk {
		s.spare = append(s.spare, at)
	}
}

func (s *spillFile) open() {
	if s.file, s.err = os.CreateTemp(s.dir, "rdapq-*.tmp"); s.err == nil {
		s.named = os.Remove(s.file.Name()) != nil
	}
}

// read returns a chunk, in buf if it fits, and frees its space.
func (s *spillFile) read(at int64, size int, buf []byte) ([]byte, error) {
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
	if size <= spillChunk {
		s.spare = append(s.spare, at)
	}
	return buf, nil
}

func (s *spillFile) close() error {
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

// A diskQueue is a FIFO queue of inputs with only its two ends in memory. It does no I/O
// itself: see queue.flushPending and queue.loadChunk.
type diskQueue struct {
	n          int64    // inputs
	head       []byte   // being read
	buf        []byte   // backing array of head
	chunks     []*chunk // between head and tail
	tail       []byte   // being written
	tailN      int
	unreadable int   // inputs of a chunk that could not be read; they precede head
	err        error // why
}

// push appends an input. If that fills a chunk, push returns the chunk, which is to be
// written.
func (s *diskQueue) push(in Input) (full *chunk) {
	was := len(s.tail)
	s.tail = appendInput(s.tail, in)
	s.tailN++
	s.n++
	if len(s.tail) < spillChunk {
		return nil
	}
	// The input that exceeds the size starts the next chunk, so that a chunk fits into
	// the space of another one.
	size, n := len(s.tail), s.tailN
	if was > 0 && size > spillChunk {
		size, n = was, n-1
	}
	full = &chunk{data: bytes.Clone(s.tail[:size]), size: size, n: n}
	s.chunks = append(s.chunks, full)
	s.tail, s.tailN = append(s.tail[:0], s.tail[size:]...), s.tailN-n
	return full
}

var errSpill = errors.New("this input cannot be read back from the temporary file")

// nextOnDisk returns the chunk that must be read from the file before pop; nil if none
// must.
func (s *diskQueue) nextOnDisk() *chunk {
	if s.n == 0 || s.unreadable > 0 || len(s.head) > 0 || len(s.chunks) == 0 || s.chunks[0].data != nil {
		return nil
	}
	return s.chunks[0]
}

// loaded adds the content of the chunk that nextOnDisk returned.
func (s *diskQueue) loaded(c *chunk, data []byte, err error) {
	s.chunks = s.chunks[1:]
	if err != nil {
		s.unreadable, s.err = c.n, errors.Join(errSpill, err)
		return
	}
	s.buf, s.head = data, data
}

// pop removes the first input. The queue must not be empty, and nextOnDisk must be nil.
// With an error the input is empty. begun is the chunk in memory of which pop read the
// first input, or nil.
func (s *diskQueue) pop() (in Input, begun *chunk, err error) {
	s.n--
	if s.unreadable > 0 {
		s.unreadable--
		return Input{}, nil, s.err
	}
	switch {
	case len(s.head) > 0:
	case len(s.chunks) > 0:
		begun = s.chunks[0]
		begun.readFromMemory = true
		s.chunks = s.chunks[1:]
		s.head, s.buf = begun.data, nil // its writer may still use it
	default:
		s.head, s.buf, s.tail, s.tailN = s.tail, s.tail, s.buf[:0], 0
	}
	in, rest, ok := cutInput(s.head)
	if !ok {
		rest, err = nil, errSpill
	}
	if s.head = rest; s.n == 0 {
		*s = diskQueue{}
	}
	return in, begun, err
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
