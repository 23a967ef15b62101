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

// Options say what a journal is of. Path and Format are required.
type Options struct {
	Path   string
	Format Format
	Header []byte   // CSV: the line with the names of the columns
	Input  *Input   // what the lines are of; nil if it can't be read twice, so that nothing can be continued
	Flags  []string // what else the rows depend on, readable, in a fixed order
	// SecretFlags are further ones, of the form NAME=VALUE, whose values are not
	// to be written down: the sidecar has a salted SHA-256 of them.
	SecretFlags []string

	// Retry tells which verdicts are no results to keep: their rows are dropped
	// when a run goes on, and their lines asked again. Nil: none.
	Retry func(verdict string) bool

	Ordered bool // rows stand in the order of their lines
	Force   bool // start over, whatever the file holds
	Fsync   bool // have the disk itself store what is flushed

	Interval time.Duration // how long a row may stay in memory; 0: DefaultInterval
	Block    int           // how many octets may; 0: DefaultBlock
}

// A Past is what a journal held when it was opened.
type Past struct {
	Rows     int64            // finished before
	Verdicts map[string]int64 // of these rows
	Retried  int64            // rows that were dropped, for their lines to be asked again
	Complete bool             // every line is finished: there is nothing left to do
}

// A Journal is the output of one batch. Begin may be called by one goroutine
// while another calls the other methods.
type Journal struct {
	o    Options
	path string // with links followed
	past Past

	mu       sync.Mutex
	side     *os.File // holds the lock
	file     *os.File
	size     int64 // of file
	finished order.Set
	queue    *order.Queue // nil: rows go to the file as they come
	buf      []byte       // whole rows
	rows     int64        // that were written
	timer    *time.Timer  // nil while nothing waits to be flushed
	err      error        // of the file; nothing is written after it
}

// ErrLocked says that another process has the journal open.
var ErrLocked = errors.New("locked by another process")

// ErrForeign says that the file is not empty and no journal.
var ErrForeign = errors.New("file exists and is not a resumable rdapq output")

// A CorruptError says that a row of a journal is none.
type CorruptError struct {
	Path string
	Row  int64 // its number in the file, the header included
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("row %d of %s is corrupt", e.Row, e.Path)
}

// Open opens the journal for a batch, to begin it or to go on with it. It fails
// with [ErrLocked], [ErrForeign], a [*ChangedError] or a [*CorruptError], no row
// being touched, or with an error of the file system. Later calls fail with an
// [*InterferenceError] if another program changed the files meanwhile.
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

// Past returns what the journal held when it was opened.
func (j *Journal) Past() Past { return j.past }

// Begin tells whether a line of the input is still to be asked. It must be
// called for all lines that give a row, in their order.
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
	err = j.fail(j.queue.Announce(line)) // which may emit rows
	return !held, j.settle(err)
}

// Write takes the row of a line, line end included, and copies it. It is in the
// file within Options.Interval, or with rows in order in the file of those that
// wait.
func (j *Journal) Write(line int64, row []byte) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err != nil {
		return j.err
	}
	j.rows++
	if j.queue == nil {
		j.buf = append(j.buf, row...)
		return j.settle(nil)
	}
	return j.settle(j.fail(j.queue.Put(line, row)))
}

// settle flushes now, if there is much to flush, or soon.
func (j *Journal) settle(err error) error {
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
			if j.timer == nil { // closed meanwhile
				return
			}
			j.timer = nil
			_ = j.flush() // the next call returns it
		})
	}
	return nil
}

// Flush writes all rows there are.
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
			// Half a row is better gone, though the next run would cope with it.
			_ = j.file.Truncate(j.size)
			return j.fail(err)
		}
		j.size += int64(n)
		if j.buf = j.buf[:0]; cap(j.buf) > 16*j.o.Block { // one huge answer must not be held for good
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
	// Rows leave the file of those that wait only now that they are in the other.
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

// Complete flushes and notes that every line of the input has its row.
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

// Close flushes and gives the journal free for others.
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

// release closes the files, that with the lock last.
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
