package order

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
)

const (
	// entrySize is the size of an index entry, which has offset and length of a row.
	entrySize = 16
	// defaultGarbage is the amount of unused data from which the file is rewritten.
	defaultGarbage = 64 << 20
	// blockSize is the size from which the buffer is written.
	blockSize = 256 << 10
)

// A store holds the waiting rows on disk: data has the concatenated rows. A temporary file has
// the positions of the rows, at entrySize × line, because an index in memory would grow with
// the number of rows.
type store struct {
	path    string // path of data; empty means a temporary file
	dir     string // directory for temporary files
	garbage int64  // amount of unused data to tolerate
	data    *os.File
	place   *os.File
	size    int64 // size of data
	live    int64 // number of bytes of waiting rows in data
	lines   Set   // lines with rows in data
	last    int64 // highest line so far
	buf     []byte
}

// open opens data on first use.
func (s *store) open() (err error) {
	switch {
	case s.data != nil:
	case s.path == "":
		s.data, err = temporary(s.dir)
	default:
		s.data, err = os.OpenFile(s.path, os.O_RDWR|os.O_CREATE, 0o666)
	}
	return err
}

// append writes rows at the end of data, in order of their lines.
func (s *store) append(rows map[int64][]byte) error {
	if err := s.open(); err != nil {
		return err
	}
	start := s.size
	flush := func() error {
		_, err := s.data.WriteAt(s.buf, start)
		start += int64(len(s.buf))
		s.buf = s.buf[:0]
		return err
	}
	for _, line := range slices.Sorted(maps.Keys(rows)) {
		row := rows[line]
		if err := s.index(line, s.size, len(row)); err != nil {
			return err
		}
		if s.buf = append(s.buf, row...); len(s.buf) >= blockSize {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	err := flush()
	if cap(s.buf) > 4*blockSize { // do not retain the memory of a huge row
		s.buf = nil
	}
	return err
}

// index records the position of a line's row, which is at the end of data.
func (s *store) index(line, offset int64, n int) error {
	if s.place == nil {
		var err error
		if s.place, err = temporary(s.dir); err != nil {
			return err
		}
	}
	var entry [entrySize]byte
	binary.LittleEndian.PutUint64(entry[:8], uint64(offset))
	binary.LittleEndian.PutUint64(entry[8:], uint64(n))
	if _, err := s.place.WriteAt(entry[:], line*entrySize); err != nil {
		return err
	}
	s.lines.Add(line)
	s.last = max(s.last, line)
	s.live += int64(n)
	s.size = offset + int64(n)
	return nil
}

// find returns a reader over a line's stored row.
func (s *store) find(line int64) (*io.SectionReader, error) {
	var entry [entrySize]byte
	if _, err := s.place.ReadAt(entry[:], line*entrySize); err != nil {
		return nil, err
	}
	offset, n := binary.LittleEndian.Uint64(entry[:8]), binary.LittleEndian.Uint64(entry[8:])
	return io.NewSectionReader(s.data, int64(offset), int64(n)), nil
}

// take removes the row of a line and returns it.
func (s *store) take(line int64) ([]byte, error) {
	at, err := s.find(line)
	if err != nil {
		return nil, err
	}
	row := make([]byte, at.Size())
	if _, err := io.ReadFull(at, row); err != nil {
		return nil, fmt.Errorf("cannot read the row of line %d: %w", line, err)
	}
	s.lines.Remove(line)
	s.live -= at.Size()
	return row, nil
}

// each calls f for the lines with a row, in order.
func (s *store) each(f func(line int64) error) error {
	for line := int64(0); ; line++ {
		var ok bool
		if line, ok = s.lines.Next(line, s.last); !ok {
			return nil
		}
		if err := f(line); err != nil {
			return err
		}
	}
}

// shrink truncates data if no row is waiting, and rewrites it if most of it is unused.
func (s *store) shrink() error {
	switch garbage := s.size - s.live; {
	case garbage == 0:
		return nil
	case s.live == 0:
		s.size = 0
		return errors.Join(s.data.Truncate(0), s.place.Truncate(0))
	case garbage < max(s.garbage, s.live):
		return nil
	}
	return s.compact()
}

// compact writes the waiting rows to a new file and replaces data with it, so that no
// row is lost if the process is killed.
func (s *store) compact() (err error) {
	old := *s
	s.data, s.place, s.size, s.live, s.lines = nil, nil, 0, 0, Set{}
	if s.path != "" {
		s.data, err = os.Create(s.path + ".new")
	}
	if err == nil {
		err = s.open()
	}
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(s.data, blockSize)
	err = old.each(func(line int64) error {
		at, err := old.find(line)
		if err != nil {
			return err
		}
		if err := s.index(line, s.size, int(at.Size())); err != nil {
			return err
		}
		_, err = io.Copy(w, at)
		return err
	})
	err = errors.Join(err, w.Flush(), old.close())
	if err != nil || s.path == "" {
		return err
	}
	// Some systems cannot rename open files.
	if err = errors.Join(s.data.Close(), os.Rename(s.path+".new", s.path)); err == nil {
		s.data = nil
		err = s.open()
	}
	return err
}

func (s *store) close() error {
	var errs []error
	for _, f := range []*os.File{s.data, s.place} {
		if f == nil {
			continue
		}
		errs = append(errs, f.Close())
		if f != s.data || s.path == "" {
			_ = os.Remove(f.Name()) // needed on systems that cannot remove open files
		}
	}
	return errors.Join(errs...)
}

// temporary returns a temporary file. It removes the file's name immediately if possible, so
// that a killed process leaves nothing behind.
func temporary(dir string) (*os.File, error) {
	f, err := os.CreateTemp(dir, ".rdapq-*.tmp")
	if err == nil {
		_ = os.Remove(f.Name())
	}
	return f, err
}
