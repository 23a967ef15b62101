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
	// entrySize is the size of an index entry: offset and length of a row.
	entrySize = 16
	// defaultGarbage is how much must be of no use in the file before it is
	// written anew.
	defaultGarbage = 64 << 20
	// blockSize is how much is gathered before it is written.
	blockSize = 256 << 10
)

// A store is the rows that wait on disk: in data, one after another. Where each
// stands is in a temporary file, at entrySize × line, as an index in memory
// would grow with what waits.
type store struct {
	path    string // of data; empty: it is temporary
	dir     string // of temporary files
	garbage int64  // how much of it is borne
	data    *os.File
	place   *os.File
	size    int64 // of data
	live    int64 // octets of it that are waited for
	lines   Set   // whose rows are in data
	last    int64 // the highest of them, ever
	buf     []byte
}

// open opens data if that has not been done.
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

// append writes rows at the end of data, in the order of their lines.
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
	if cap(s.buf) > 4*blockSize { // a huge row must not be held for good
		s.buf = nil
	}
	return err
}

// index notes where the row of a line stands, which is at the end.
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

// find returns where the row of a line stands.
func (s *store) find(line int64) (*io.SectionReader, error) {
	var entry [entrySize]byte
	if _, err := s.place.ReadAt(entry[:], line*entrySize); err != nil {
		return nil, err
	}
	offset, n := binary.LittleEndian.Uint64(entry[:8]), binary.LittleEndian.Uint64(entry[8:])
	return io.NewSectionReader(s.data, int64(offset), int64(n)), nil
}

// take returns the row of a line and forgets it.
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

// each calls f for the lines whose rows are there, in order.
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

// shrink empties data when nothing in it is waited for, and writes it anew when
// most of it is not.
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

// compact writes a new file with the rows that are waited for and puts it in
// the place of data, so that who is killed on the way loses none.
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
	// Closed on both sides, or some systems refuse it.
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
			_ = os.Remove(f.Name()) // where it could not be done before
		}
	}
	return errors.Join(errs...)
}

// temporary returns a file that a process which is killed leaves behind on
// systems only that can't remove open files.
func temporary(dir string) (*os.File, error) {
	f, err := os.CreateTemp(dir, ".rdapq-*.tmp")
	if err == nil {
		_ = os.Remove(f.Name())
	}
	return f, err
}
