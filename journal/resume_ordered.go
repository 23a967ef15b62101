package journal

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
)

// scanOrdered reads the rows of an ordered file. Rows before the first line to query again stay
// in the file. Later rows wait for that line, like the rows in the file of waiting rows.
func (j *Journal) scanOrdered(s *fileScan, start int64) error {
	n := int64(bytes.Count(j.o.Header, []byte{'\n'}))
	cut := int64(-1)
	end, err := rows(io.NewSectionReader(j.file, start, 1<<62), func(row []byte, offset int64) error {
		n++
		line, verdict, ok := j.parse(row)
		switch {
		case !ok:
			return &CorruptError{j.path, n}
		case cut >= 0:
			return j.postpone(s, row, line, verdict)
		case !j.recordRow(line, verdict):
			cut = start + offset
		}
		return nil
	})
	if err != nil {
		return err
	}
	if s.end = start + end; cut >= 0 {
		s.end = cut
	}
	if s.postponed == nil {
		return nil
	}
	return j.waitingRows(func(row []byte, line int64, verdict string, _ int64) error {
		return j.postpone(s, row, line, verdict)
	})
}

// postpone moves a row to the waiting rows, if the row stays.
func (j *Journal) postpone(s *fileScan, row []byte, line int64, verdict string) (err error) {
	if !j.stays(line, verdict) {
		return nil
	}
	if s.postponed == nil {
		if s.postponed, err = newRewrite(j.waiting()+".new", j.file); err != nil {
			return err
		}
	}
	_, err = s.postponed.w.Write(row)
	return err
}

// waitingRows calls f for the waiting rows.
func (j *Journal) waitingRows(f func(row []byte, line int64, verdict string, offset int64) error) error {
	file, err := os.Open(j.waiting())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	n := int64(0)
	_, err = rows(file, func(row []byte, offset int64) error {
		n++
		line, verdict, ok := j.parse(row)
		if !ok {
			return &CorruptError{j.waiting(), n}
		}
		return f(row, line, verdict, offset)
	})
	return err
}

// applyOrdered updates both files according to the scan. It writes postponed rows to their new
// file before it removes them from the old file.
func (j *Journal) applyOrdered(s *fileScan) error {
	if s.postponed != nil {
		if err := s.postponed.finish(); err != nil {
			return err
		}
		if err := errors.Join(os.Rename(j.waiting()+".new", j.waiting()), syncDir(j.path)); err != nil {
			return err
		}
	}
	if err := j.file.Truncate(s.end); err != nil {
		return err
	}
	j.size = s.end
	return j.load()
}

// load adds the waiting rows to the queue. Rows that are in both files, because the
// process was killed between the two writes, count once.
func (j *Journal) load() error {
	j.newQueue()
	end := int64(0)
	err := j.waitingRows(func(row []byte, line int64, verdict string, offset int64) error {
		if !j.stays(line, verdict) || j.queue.Holds(line) {
			return nil
		}
		j.past.Rows++
		j.past.Verdicts[verdict]++
		end = offset + int64(len(row))
		return j.queue.Load(line, offset, len(row))
	})
	if err != nil {
		return err
	}
	// Truncate stale data, which a later run would read as rows.
	if err := os.Truncate(j.waiting(), end); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
