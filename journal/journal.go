package journal

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/rdapq/rdapq/internal/order"
)

// Defaults of [Options].
const (
	DefaultInterval = 200 * time.Millisecond
	DefaultBlock    = 256 << 10
)

// Options identifies a journal. Path and Format are required.
type Options struct {
	Path   string
	Format Format
	Header []byte // for CSV: line with the column names
	// identifies the input; nil if the input cannot be read twice, which makes the journal not
	// resumable
	Input *Input
	Flags []string // other settings that determine the rows, in readable form and fixed order
	// SecretFlags are further settings of the form NAME=VALUE with secret values. The sidecar
	// stores a salted SHA-256 of each.
	SecretFlags []string

	// Retry reports whether to query a line with this verdict again when a run is resumed. If
	// so, the existing row is dropped. Nil means no line is queried again.
	Retry func(verdict string) bool

	Ordered bool // whether to write rows in the order of their lines
	Force   bool // whether to start over, whatever the file contains
	Fsync   bool // whether to flush to disk, not only to the system

	Interval time.Duration // maximum time that a row stays in memory; 0 means DefaultInterval
	Block    int           // maximum bytes that stay in memory; 0 means DefaultBlock
}

// A Past describes the content of a journal when it was opened.
type Past struct {
	Rows     int64            // number of completed rows
	Verdicts map[string]int64 // number of completed rows by verdict
	Retried  int64            // number of dropped rows, whose lines are queried again
	Complete bool             // all lines have rows
}

// A Journal is the output of one batch. One goroutine may call Begin while another
// calls the other methods.
type Journal struct {
	o    Options
	path string // path with symbolic links resolved
	past Past

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

// Open starts or resumes the journal of a batch. It may fail with [ErrLocked], [ErrForeign], a
// [*ChangedError], a [*CorruptError], or an error of the file system. It changes no row if it
// fails. Later calls fail with an [*InterferenceError] if another program changed the files.
func Open(o Options) (*Journal, error) {
	if o.Interval <= 0 {
		o.Interval = DefaultInterval
	}
	if o.Block <= 0 {
		o.Block = DefaultBlock
	}
	path, err := Resolve(o.Path)
	if err != nil {
		return nil, err
	}
	j := &Journal{o: o, path: path, past: Past{Verdicts: make(map[string]int64)}}
	if err := j.open(); err != nil {
		j.release()
		return nil, err
	}
	return j, nil
}

// Past returns the content of the journal when it was opened.
func (j *Journal) Past() Past { return j.past }

// Begin reports whether to query a line. The caller must call Begin in order, for every line
// that gets a row.
func (j *Journal) Begin(line int64) (ask bool, err error) {
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
// within Options.Interval. If rows are ordered, it may be in the file of waiting rows instead.
func (j *Journal) Write(line int64, row []byte) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err != nil {
		return j.err
	}
	j.rows++
	if j.queue == nil {
		j.buf = append(j.buf, row...)
		return j.flushSoon(nil)
	}
	return j.flushSoon(j.fail(j.queue.Put(line, row)))
}

// flushSoon flushes a full buffer now, and other buffers after the interval.
func (j *Journal) flushSoon(err error) error {
	if err != nil {
		return err
	}
	if len(j.buf) >= j.o.Block {
		return j.flush()
	}
	if j.timer == nil {
		j.timer = time.AfterFunc(j.o.Interval, func() {
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
		if j.buf = j.buf[:0]; cap(j.buf) > 16*j.o.Block { // do not retain the memory of a huge response
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

// Complete flushes rows and records that every line of the input has a row.
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

// Close flushes rows and unlocks the journal.
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
