package journal

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/rdapq/rdapq/internal/order"
	"github.com/rdapq/rdapq/internal/statefile"
)

// Defaults of a [Config].
const (
	DefaultFlushInterval = 200 * time.Millisecond
	DefaultBufferSize    = 256 << 10
)

// A Config identifies the run that a journal belongs to, and configures the journal. The
// zero value is a journal of NDJSON rows that cannot be resumed.
type Config struct {
	Format Format // empty means NDJSON
	Header []byte // for CSV: line with the column names, which the journal writes

	// Input identifies the input: see [Fingerprint]. Nil means that it cannot be read
	// twice. The journal is then not resumable: Open refuses a file with rows.
	Input *Input

	// Settings are the other settings that determine the rows, readable, in a fixed
	// order: "type=domain". Open refuses to resume with others.
	Settings []string

	// SecretSettings are further settings of the form NAME=VALUE with secret values. The
	// sidecar stores a salted SHA-256 of each.
	SecretSettings []string

	// Retry reports whether a line with this verdict needs another row when a run is
	// resumed. If so, the existing row is dropped. Nil means no line does.
	Retry func(verdict string) bool

	Ordered   bool // whether to write rows in the order of their lines
	Overwrite bool // whether to start over, whatever the file contains; a locked one is refused
	Fsync     bool // whether to flush rows to disk, not only to the system: see the guarantees

	FlushInterval time.Duration // maximum time that a row stays in memory; 0 means DefaultFlushInterval
	BufferSize    int           // maximum bytes that stay in memory; 0 means DefaultBufferSize
}

// A Past describes the content of a journal when it was opened.
type Past struct {
	Rows     int64            // number of rows that remain
	Verdicts map[string]int64 // number of these rows by verdict
	Retried  int64            // number of rows dropped because of Config.Retry
	Complete bool             // all lines have a row: see [Journal.Complete]
}

// A Journal is the output of one batch. It is safe for concurrent use.
type Journal struct {
	o     Config
	path  string // path with symbolic links resolved
	parse parser
	past  Past

	mu       sync.Mutex
	side     *os.File // sidecar file, which holds the lock
	file     *os.File
	size     int64 // size of file
	finished order.Set
	queue    *order.Queue // nil means rows are not ordered
	buf      []byte       // complete rows to write
	rows     int64        // number of rows written
	timer    *time.Timer  // nil while no flush is scheduled
	err      error        // error of file, after which nothing more is written
}

// ErrLocked reports that another process has the journal open.
var ErrLocked = errors.New("locked by another process")

// ErrForeign reports that the file is neither empty nor a journal.
var ErrForeign = errors.New("file exists and is not a resumable rdapq output")

// A CorruptError reports a row that cannot be parsed.
type CorruptError struct {
	Path string
	Row  int64 // number of the row in the file, counting the header
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("row %d of %s is corrupt", e.Row, e.Path)
}

// Open starts or resumes the journal at a path, which may be a symbolic link. It may fail
// with [ErrLocked], [ErrForeign], a [*ChangedError], a [*CorruptError], or an error of the file
// system. It changes no row if it fails. Later calls fail with an [*InterferenceError] if
// another program changed the files.
func Open(path string, c Config) (*Journal, error) {
	if c.Format == "" {
		c.Format = NDJSON
	}
	if c.FlushInterval <= 0 {
		c.FlushInterval = DefaultFlushInterval
	}
	if c.BufferSize <= 0 {
		c.BufferSize = DefaultBufferSize
	}
	parse, err := c.Format.parser(c.Header)
	if err != nil {
		return nil, err
	}
	path, err = statefile.ResolveLinks(path)
	if err != nil {
		return nil, err
	}
	j := &Journal{o: c, path: path, parse: parse, past: Past{Verdicts: make(map[string]int64)}}
	if err := j.open(); err != nil {
		j.release()
		return nil, err
	}
	return j, nil
}

// Past returns the content of the journal when it was opened.
func (j *Journal) Past() Past { return j.past }

// Begin reports whether a line needs a row. The caller must call Begin in order, for every
// line that gets a row. Numbers start at 1.
func (j *Journal) Begin(line int64) (needed bool, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.queue == nil {
		return !j.finished.Has(line), nil
	}
	held := j.queue.Holds(line)
	if !held && j.finished.Has(line) {
		return false, nil
	}
	err = j.fail(j.queue.Announce(line)) // Announce may emit rows
	return !held, j.flushSoon(err)
}

// Write adds the row of a line, including the line end, and copies it. The row is in the file
// within Config.FlushInterval. If rows are ordered, it may be in the file of waiting rows
// instead. Write refuses a row that is not exactly one line, a second row of a line, and a
// first row without the line and a verdict. These errors leave the journal usable. After an
// error of the file, every call returns that error.
func (j *Journal) Write(line int64, row []byte) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err != nil {
		return j.err
	}
	if err := j.checkRow(line, row); err != nil {
		return err
	}
	j.rows++
	if j.queue == nil {
		j.buf = append(j.buf, row...)
		return j.flushSoon(nil)
	}
	return j.flushSoon(j.fail(j.queue.Put(line, row)))
}

// checkRow returns an error for a row that would make the journal unreadable, and
// otherwise records that the line has a row. It parses only the first row, since all
// have the same form.
func (j *Journal) checkRow(line int64, row []byte) error {
	if bytes.IndexByte(row, '\n') != len(row)-1 || len(row) == 0 {
		return fmt.Errorf("row of line %d: not one line with its end", line)
	}
	if j.rows == 0 {
		if got, _, ok := j.parse(row); !ok || got != line {
			return fmt.Errorf("row of line %d: without %s %d and a %s", line, lineName, line, verdictName)
		}
	}
	if j.queue != nil && j.queue.Holds(line) || !j.finished.Add(line) {
		return fmt.Errorf("line %d already has a row", line)
	}
	return nil
}

// flushSoon flushes a full buffer now, and other buffers after the interval.
func (j *Journal) flushSoon(err error) error {
	if err != nil {
		return err
	}
	if len(j.buf) >= j.o.BufferSize {
		return j.flush()
	}
	if j.timer == nil {
		j.timer = time.AfterFunc(j.o.FlushInterval, func() {
			j.mu.Lock()
			defer j.mu.Unlock()
			if j.timer == nil { // nil means that the journal was closed
				return
			}
			j.timer = nil
			_ = j.flush() // the next call returns the error
		})
	}
	return nil
}

// Flush writes all buffered rows.
func (j *Journal) Flush() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.flush()
}

func (j *Journal) flush() error {
	if j.err != nil {
		return j.err
	}
	if err := j.verify(); err != nil {
		return j.fail(err)
	}
	if len(j.buf) > 0 {
		n, err := j.file.WriteAt(j.buf, j.size)
		if err != nil {
			// Remove a partial row, although the next run could handle it.
			_ = j.file.Truncate(j.size)
			return j.fail(err)
		}
		j.size += int64(n)
		if j.buf = j.buf[:0]; cap(j.buf) > 16*j.o.BufferSize { // do not retain the memory of a huge response
			j.buf = nil
		}
		if j.o.Fsync {
			if err := j.file.Sync(); err != nil {
				return j.fail(err)
			}
		}
	}
	if j.queue == nil {
		return nil
	}
	// Remove rows from the file of waiting rows only after they are in the journal.
	if err := j.queue.Shrink(); err != nil {
		return j.fail(err)
	}
	if err := j.queue.Persist(); err != nil {
		return j.fail(err)
	}
	if j.o.Fsync {
		return j.fail(j.queue.Sync())
	}
	return nil
}

func (j *Journal) fail(err error) error {
	if j.err == nil {
		j.err = err
	}
	return j.err
}

// Complete flushes rows and records that every line of the input has a row. Past.Complete is
// then true when the journal is opened again.
func (j *Journal) Complete() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.flush(); err != nil {
		return err
	}
	if j.queue != nil && j.queue.Waiting() > 0 {
		return j.fail(errors.New("rows are waiting for lines that were never announced"))
	}
	return j.fail(j.mark(true, j.past.Rows+j.rows))
}

// Close flushes rows and unlocks the journal. A second Close returns [os.ErrClosed].
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	err := j.flush()
	if j.timer != nil {
		j.timer.Stop()
		j.timer = nil
	}
	if e := j.release(); err == nil {
		err = e
	}
	_ = j.fail(os.ErrClosed)
	return err
}

// release closes the files, and the locked file last.
func (j *Journal) release() error {
	var errs []error
	if j.queue != nil {
		idle := j.queue.Waiting() == 0 && j.err == nil
		errs = append(errs, j.queue.Close())
		if idle {
			errs = append(errs, remove(j.waiting()))
		}
	}
	for _, f := range []*os.File{j.file, j.side} {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}
