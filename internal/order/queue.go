package order

import "errors"

// DefaultMaxMemory is how many octets of rows a [Queue] holds in memory.
const DefaultMaxMemory = 4 << 20

// rowOverhead is about what a row in memory costs beyond its octets.
const rowOverhead = 96

// A Config says where a [Queue] takes rows to.
type Config struct {
	// Emit is handed the rows in order. It must not keep them.
	Emit func(row []byte) error

	// Path names the file for rows that wait when Persist is called or when there
	// are too many for the memory: one after another, as they are. It stays when
	// the Queue is closed, and rows whose turn has come stay in it until Shrink is
	// called. Empty means a temporary file.
	Path string

	// Dir is for temporary files. Empty means os.TempDir.
	Dir string

	// MaxMemory bounds the rows in memory, in octets. 0 means DefaultMaxMemory.
	MaxMemory int
}

// A Queue puts rows into the order of their lines. Announce tells it which lines
// there are, Put what became of them. It serves one goroutine at a time. After
// an error every call returns it again.
type Queue struct {
	cfg    Config
	err    error
	lines  Set   // announced, and not emitted yet
	last   int64 // the last line that was announced
	next   int64 // the line whose turn it is; 0 while no line is waited for
	rows   map[int64][]byte
	memory int // octets of rows, overhead included
	disk   store
}

// NewQueue returns a Queue without lines.
func NewQueue(c Config) *Queue {
	if c.MaxMemory <= 0 {
		c.MaxMemory = DefaultMaxMemory
	}
	return &Queue{cfg: c, rows: make(map[int64][]byte), disk: store{path: c.Path, dir: c.Dir, garbage: defaultGarbage}}
}

// Announce says that the next row to come after those announced before is that
// of this line. Numbers must rise.
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

// Put hands over the row of a line, which is copied. The line may be announced
// later; one that was put before is ignored.
func (q *Queue) Put(line int64, row []byte) error {
	if q.err != nil {
		return q.err
	}
	if line == q.next {
		if err := q.cfg.Emit(row); err != nil {
			return q.fail(err)
		}
		q.pass()
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

// Holds reports whether the row of a line waits for its turn.
func (q *Queue) Holds(line int64) bool {
	_, ok := q.rows[line]
	return ok || q.disk.lines.Has(line)
}

// Waiting returns how many rows wait for their turn.
func (q *Queue) Waiting() int64 { return int64(len(q.rows)) + q.disk.lines.Len() }

// Load says that the file of Config.Path holds the row of a line already: n
// octets at offset. Rows must be loaded in the order in which they stand there,
// and before anything else is done.
func (q *Queue) Load(line, offset int64, n int) error {
	if err := q.disk.open(); err != nil {
		return q.fail(err)
	}
	return q.fail(q.disk.index(line, offset, n))
}

// Persist writes the rows that wait in memory to the file.
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

// Shrink frees what the file holds of rows that were emitted, if that is all or
// much of it.
func (q *Queue) Shrink() error {
	if q.err != nil {
		return q.err
	}
	return q.fail(q.disk.shrink())
}

// Sync has the disk itself store what Persist wrote.
func (q *Queue) Sync() error {
	if q.err != nil || q.disk.data == nil {
		return q.err
	}
	return q.fail(q.disk.data.Sync())
}

// Rest emits all rows that wait, in order, as if the lines without one had not
// been announced.
func (q *Queue) Rest() error {
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

// Close closes the files. Rows that wait are lost, but for those in the file of
// Config.Path.
func (q *Queue) Close() error { return q.disk.close() }

// advance emits rows for as long as it is their turn.
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
		q.pass()
	}
	return q.err
}

// pass goes on to the next line that was announced.
func (q *Queue) pass() {
	q.lines.Remove(q.next)
	q.next, _ = q.lines.Next(q.next, q.last)
}

func (q *Queue) fail(err error) error {
	if q.err == nil {
		q.err = err
	}
	return q.err
}
