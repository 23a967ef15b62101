package order

import "errors"

// DefaultMaxMemory is the default of Config.MaxMemory, in bytes.
const DefaultMaxMemory = 4 << 20

// rowOverhead estimates the memory of a row beyond its bytes.
const rowOverhead = 96

// A Config configures a [Queue].
type Config struct {
	// Emit receives the rows in order. It must not retain the slices.
	Emit func(row []byte) error

	// Path names the file for waiting rows, which has these rows unchanged and concatenated.
	// Rows go to the file when Persist is called or the memory limit is reached, and stay until
	// Shrink is called. Close does not remove the file. An empty Path means a temporary file.
	Path string

	// Dir is the directory for temporary files. Empty means os.TempDir.
	Dir string

	// MaxMemory limits the rows in memory, in bytes. 0 means DefaultMaxMemory.
	MaxMemory int
}

// A Queue sorts rows by line. Announce adds a line, and Put adds its row. One goroutine at a
// time may use a Queue. After an error every call returns the same error.
type Queue struct {
	cfg    Config
	err    error
	lines  Set   // lines announced and not yet emitted
	last   int64 // last announced line
	next   int64 // next line to emit; 0 if no line is pending
	rows   map[int64][]byte
	memory int // number of bytes of rows, including overhead
	disk   store
}

// NewQueue returns a Queue without lines.
func NewQueue(c Config) *Queue {
	if c.MaxMemory <= 0 {
		c.MaxMemory = DefaultMaxMemory
	}
	return &Queue{cfg: c, rows: make(map[int64][]byte), disk: store{path: c.Path, dir: c.Dir, garbage: defaultGarbage}}
}

// Announce adds a line whose row follows those of the lines announced before. The numbers of
// the lines must rise.
func (q *Queue) Announce(line int64) error {
	if q.err != nil {
		return q.err
	}
	if line <= q.last {
		return q.fail(errors.New("lines were announced out of order"))
	}
	q.lines.Add(line)
	q.last = line
	if q.next == 0 {
		q.next = line
		return q.advance()
	}
	return nil
}

// Put adds the row of a line and copies it. The line may be announced later. Put
// ignores a second row of a line.
func (q *Queue) Put(line int64, row []byte) error {
	if q.err != nil {
		return q.err
	}
	if line == q.next {
		if err := q.cfg.Emit(row); err != nil {
			return q.fail(err)
		}
		q.nextLine()
		return q.advance()
	}
	if q.Holds(line) || line <= q.last && !q.lines.Has(line) {
		return nil
	}
	q.rows[line] = append([]byte(nil), row...)
	q.memory += len(row) + rowOverhead
	if q.memory <= q.cfg.MaxMemory {
		return nil
	}
	if err := q.Persist(); err != nil || q.cfg.Path != "" {
		return err
	}
	return q.Shrink()
}

// Holds reports whether the row of a line is waiting.
func (q *Queue) Holds(line int64) bool {
	_, ok := q.rows[line]
	return ok || q.disk.lines.Has(line)
}

// Waiting returns the number of waiting rows.
func (q *Queue) Waiting() int64 { return int64(len(q.rows)) + q.disk.lines.Len() }

// Load adds a row that the file of Config.Path already contains: n bytes at offset.
// Call it for rows in file order, before any other method.
func (q *Queue) Load(line, offset int64, n int) error {
	if err := q.disk.open(); err != nil {
		return q.fail(err)
	}
	return q.fail(q.disk.index(line, offset, n))
}

// Persist writes the waiting rows in memory to the file.
func (q *Queue) Persist() error {
	if q.err != nil || len(q.rows) == 0 {
		return q.err
	}
	if err := q.disk.append(q.rows); err != nil {
		return q.fail(err)
	}
	clear(q.rows)
	q.memory = 0
	return nil
}

// Shrink frees the space of emitted rows in the file if they are all or most of it.
func (q *Queue) Shrink() error {
	if q.err != nil {
		return q.err
	}
	return q.fail(q.disk.shrink())
}

// Sync flushes the file to disk.
func (q *Queue) Sync() error {
	if q.err != nil || q.disk.data == nil {
		return q.err
	}
	return q.fail(q.disk.data.Sync())
}

// Drain emits all waiting rows in order and skips lines without a row.
func (q *Queue) Drain() error {
	for line := range q.rows {
		q.lines.Add(line)
		q.last = max(q.last, line)
	}
	_ = q.disk.each(func(line int64) error {
		q.lines.Add(line)
		q.last = max(q.last, line)
		return nil
	})
	for q.err == nil {
		var ok bool
		if q.next, ok = q.lines.Next(q.next, q.last); !ok {
			q.next = 0
			break
		}
		if !q.Holds(q.next) {
			q.lines.Remove(q.next)
			continue
		}
		q.advance()
	}
	return q.err
}

// Close closes the files. It drops waiting rows, except those in the file of
// Config.Path.
func (q *Queue) Close() error { return q.disk.close() }

// advance emits rows as long as the next row is present.
func (q *Queue) advance() error {
	for q.err == nil && q.next != 0 {
		row, ok := q.rows[q.next]
		if ok {
			delete(q.rows, q.next)
			q.memory -= len(row) + rowOverhead
		} else if q.disk.lines.Has(q.next) {
			var err error
			if row, err = q.disk.take(q.next); err != nil {
				return q.fail(err)
			}
		} else {
			return nil
		}
		if err := q.cfg.Emit(row); err != nil {
			return q.fail(err)
		}
		q.nextLine()
	}
	return q.err
}

// nextLine moves on to the next announced line.
func (q *Queue) nextLine() {
	q.lines.Remove(q.next)
	q.next, _ = q.lines.Next(q.next, q.last)
}

func (q *Queue) fail(err error) error {
	if q.err == nil {
		q.err = err
	}
	return q.err
}
