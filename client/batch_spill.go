package client

// Reading and writing the temporary file takes place outside the lock of the
// queue, as do warnings: a Logger may call back into the Client, and a disk may be
// slow.

// shelve puts a new input on its lane's shelf. It is false if the file may not
// grow any more.
func (q *queue) shelve(l *lane, it *item) bool {
	if !q.mayGrow() {
		return false
	}
	q.shelved(l.shelf.put(it.input))
	q.waiting++
	q.spilled++
	q.rouse(l)
	return true
}

// shelved notes a chunk that has to be written, if there is one.
func (q *queue) shelved(c *chunk) {
	if c != nil {
		q.unwritten = append(q.unwritten, c)
		q.onDisk += c.room()
	}
}

// mayGrow reports whether there is room in the file for one more chunk. If there
// is not, a warning says so once.
func (q *queue) mayGrow() bool {
	if q.onDisk+spillChunk <= q.maxSpill {
		return true
	}
	q.pauses("the temporary file for inputs that wait for their servers is full: reading pauses until some were sent", "bytes", q.maxSpill)
	return false
}

// pauses notes that the source waits, and warns of it once.
func (q *queue) pauses(message string, args ...any) {
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

// settle does what is to be done outside the lock, which is held when it begins
// and when it ends: it writes chunks and prints warnings.
func (q *queue) settle() {
	for len(q.unwritten) > 0 || len(q.warnings) > 0 {
		if len(q.warnings) > 0 {
			warn := q.warnings[0]
			q.warnings = q.warnings[1:]
			q.unlocked(warn)
			continue
		}
		c := q.unwritten[0]
		q.unwritten = q.unwritten[1:]
		if c.taken || q.spillErr != nil {
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
		case c.taken:
			q.spill.free(at, c.size)
		default:
			c.at, c.data = at, nil
		}
	}
}

// unlocked calls f without the lock, also if f panics.
func (q *queue) unlocked(f func()) {
	q.mu.Unlock()
	defer q.mu.Lock()
	f()
}

// load reads the next chunk of a lane. The lane is not offered meanwhile.
func (q *queue) load(l *lane, c *chunk) {
	l.loading = true
	at, size, buf := c.at, c.size, l.shelf.buf
	l.shelf.buf = nil
	var data []byte
	var err error
	q.unlocked(func() { data, err = q.spill.read(at, size, buf) })
	l.loading = false
	if q.gone {
		return
	}
	q.onDisk -= c.room()
	l.shelf.loaded(c, data, err)
	q.room.Signal()
	q.offer(l)
}

// unshelve takes the next input from the shelf of a lane.
func (q *queue) unshelve(l *lane) *item {
	in, begun, err := l.shelf.take()
	if begun != nil {
		q.onDisk -= begun.room()
		q.room.Signal()
	}
	it := &item{input: in}
	it.result = &Result{Line: in.Line, Extra: in.Extra}
	if err != nil {
		it.lost = &Error{Code: CodeInput, Message: err.Error(), Err: err}
	}
	return it
}
