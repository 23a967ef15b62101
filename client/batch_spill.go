package client

import (
	"bytes"
	"encoding/binary"

	"github.com/rdapq/rdapq/internal/spill"
)

// The queue reads and writes the temporary file without its lock, and also logs warnings
// without it. A disk may be slow, and a Logger may call back into the Client.

// spillInput appends a new input to the disk queue of its host. It returns false if
// the file is full.
func (q *queue) spillInput(l *hostQueue, it *item) bool {
	if !q.fileHasRoom() {
		return false
	}
	q.pushInput(l, it.input)
	q.waiting++
	q.spilledInputs++
	q.wakeHost(l)
	return true
}

// pushInput appends an input to the disk queue of a host.
func (q *queue) pushInput(l *hostQueue, in Input) {
	q.record = appendInput(q.record[:0], in)
	if c := l.disk.Push(q.record); c != nil {
		q.unwritten = append(q.unwritten, c)
		q.diskBytes += c.FileSize()
	}
}

// fileHasRoom reports whether the file may grow by one chunk. If not, it warns once.
func (q *queue) fileHasRoom() bool {
	if q.diskBytes+spill.ChunkSize <= q.maxSpill {
		return true
	}
	q.warnPaused("the temporary file for queued inputs is full: reading pauses until some inputs are sent", "bytes", q.maxSpill)
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

// flushPending writes chunks and logs warnings. The caller holds the lock, which flushPending
// releases meanwhile.
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
		data := c.Unwritten()
		if data == nil || q.spillErr != nil {
			continue // the chunk is read from memory
		}
		var at int64
		var err error
		q.unlocked(func() { at, err = q.file.Write(data) })
		switch {
		case err != nil:
			if q.spillErr == nil {
				q.spillErr = err
				q.warn("cannot write the temporary file for queued inputs: one slow server may delay all others", "error", err)
			}
		case !c.Written(at):
			q.file.Free(at, len(data))
		}
	}
}

// unlocked calls f with the lock released, and locks again even if f panics.
func (q *queue) unlocked(f func()) {
	q.mu.Unlock()
	defer q.mu.Lock()
	f()
}

// loadChunk reads the next chunk of l. Meanwhile l does not become ready.
func (q *queue) loadChunk(l *hostQueue, c *spill.Chunk) {
	l.loading = true
	buf := l.disk.TakeBuffer()
	var data []byte
	var err error
	q.unlocked(func() { data, err = q.file.Read(c, buf) })
	l.loading = false
	if q.abandoned {
		return
	}
	q.diskBytes -= c.FileSize()
	l.disk.Loaded(c, data, err)
	q.roomFreed.Signal()
	q.makeReady(l)
}

// popSpilled removes the next input from the disk queue of l.
func (q *queue) popSpilled(l *hostQueue) *item {
	record, begun, err := l.disk.Pop()
	if begun != nil {
		q.diskBytes -= begun.FileSize()
		q.roomFreed.Signal()
	}
	var in Input
	if err == nil {
		in, err = decodeInput(record)
	}
	it := &item{input: in}
	it.result = &Result{Line: in.Line, Extra: in.Extra}
	if err != nil {
		it.readError = &Error{Code: CodeInput, Message: err.Error(), Err: err}
	}
	return it
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
	return append(append(b, 1), in.Extra...)
}

func decodeInput(b []byte) (in Input, err error) {
	line, n := binary.Varint(b)
	if n <= 0 {
		return Input{}, spill.ErrUnreadable
	}
	b = b[n:]
	var fields [3]string
	for i := range fields {
		size, n := binary.Uvarint(b)
		if n <= 0 || size > uint64(len(b)-n) {
			return Input{}, spill.ErrUnreadable
		}
		fields[i], b = string(b[n:n+int(size)]), b[n+int(size):]
	}
	in = Input{Line: line, Type: Type(fields[0]), Text: fields[1], Server: fields[2]}
	switch {
	case len(b) == 0:
		return Input{}, spill.ErrUnreadable
	case b[0] == 1:
		in.Extra = bytes.Clone(b[1:])
	}
	return in, nil
}
