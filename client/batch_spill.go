package client

// Reading and writing the temporary file takes place outside the lock of the
// queue, as do warnings: a Logger may call back into the Client, and a disk may be
// slow.

// spillInput puts a new input on its lane's shelf. It is false if the file may not
// grow any more.
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

// noteChunk notes a chunk that has to be written, if there is one.
func (q *queue) noteChunk(c *chunk) {
	if c != nil {
		q.unwritten = append(q.unwritten, c)
		q.diskBytes += c.fileSize()
	}
}

// fileHasRoom reports whether there is room in the file for one more chunk. If there
// is not, a warning says so once.
func (q *queue) fileHasRoom() bool {
	if q.diskBytes+spillChunk <= q.maxSpill {
		return true
	}
	q.warnPaused("the temporary file for inputs that wait for their servers is full: reading pauses until some were sent", "bytes", q.maxSpill)
	return false
}

// warnPaused notes that the source waits, and warns of it once.
func (q *queue) warnPaused(message string, args ...any) {
	if !q.paused {
		q.paused = true
		q.warn(message, args...)
	}
}

// warn notes a warning, for when the lock is free.
func (q *queue) warn(message string, args ...any) {
	if q.log != nil {
		q.warnings = append(q.warnings, func() { q.log(message, args...) })
	}
}

// flushPending does what is to be done outside the lock, which is held when it begins
// and when it ends: it writes chunks and prints warnings.
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
			continue // it stays in memory, where it is read from
		}
		var at int64
		var err error
		data := c.data
		q.unlocked(func() { at, err = q.spill.write(data) })
		switch {
		case err != nil:
			if q.spillErr == nil {
				q.spillErr = err
				q.warn("no temporary file for inputs that wait: one slow server may delay all others", "error", err)
			}
		case c.readFromMemory:
			q.spill.free(at, c.size)
		default:
			c.offset, c.data = at, nil
		}
	}
}

// unlocked calls f without the lock, also if f panics.
func (q *queue) unlocked(f func()) {
	q.mu.Unlock()
	defer q.mu.Lock()
	f()
}

// loadChunk reads the next chunk of a lane. The lane is not offered meanwhile.
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

// popSpilled takes the next input from the shelf of a lane.
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
