package journal

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
)

// A fileScan is the result of reading the file.
type fileScan struct {
	end       int64    // end of the rows that remain in the file
	kept      *rewrite // copy of the remaining unordered rows, if some are dropped
	postponed *rewrite // copy of the ordered rows in the file that must wait, if any
}

// resume reads the journal and drops the rows of lines to query again.
func (j *Journal) resume(was *sidecar) (err error) {
	if j.file, err = os.OpenFile(j.path, os.O_RDWR, 0); err != nil {
		return err
	}
	start, err := j.checkHeader()
	if err != nil {
		return err
	}
	var s fileScan
	defer func() { s.kept.discard(); s.postponed.discard() }()
	if j.o.Ordered {
		err = j.scanOrdered(&s, start)
	} else {
		err = j.scan(&s, start)
	}
	if err != nil {
		return err
	}
	if j.past.Complete = was.Complete && was.Rows == j.past.Rows && j.past.Retried == 0; !j.past.Complete {
		if err := j.mark(false, 0); err != nil {
			return err
		}
	}
	if start == 0 {
		j.buf = append(j.buf, j.o.Header...)
	}
	if j.o.Ordered {
		return j.applyOrdered(&s)
	}
	if s.kept == nil {
		j.size = s.end
		return j.file.Truncate(s.end)
	}
	return j.replaceFile(&s)
}

// checkHeader returns the start of the rows: after the header, or 0 if the header is
// truncated.
func (j *Journal) checkHeader() (start int64, err error) {
	begun := make([]byte, len(j.o.Header))
	n, err := io.ReadFull(io.NewSectionReader(j.file, 0, int64(len(begun))), begun)
	switch {
	case err == nil && bytes.Equal(begun, j.o.Header):
		return int64(n), nil
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		if bytes.HasPrefix(j.o.Header, begun[:n]) && !bytes.Contains(begun[:n], []byte{'\n'}) {
			return 0, j.file.Truncate(0)
		}
	case err != nil:
		return 0, err
	}
	return 0, &ChangedError{What: ChangedColumns}
}

// stays reports whether to keep a row, because its line is not queried again and has no earlier
// row.
func (j *Journal) stays(line int64, verdict string) bool {
	if j.o.Retry != nil && j.o.Retry(verdict) {
		j.past.Retried++
		return false
	}
	return !j.finished.Has(line)
}

// recordRow counts a row and reports whether it stays in the file.
func (j *Journal) recordRow(line int64, verdict string) bool {
	if !j.stays(line, verdict) {
		return false
	}
	j.finished.Add(line)
	j.past.Rows++
	j.past.Verdicts[verdict]++
	return true
}

// scan reads the rows of the file. From the first dropped row on, it copies the rows that
// remain.
func (j *Journal) scan(s *fileScan, start int64) error {
	n := int64(bytes.Count(j.o.Header, []byte{'\n'}))
	end, err := rows(io.NewSectionReader(j.file, start, 1<<62), func(row []byte, offset int64) error {
		n++
		line, verdict, ok := j.parse(row)
		if !ok {
			return &CorruptError{j.path, n}
		}
		stays := j.recordRow(line, verdict)
		if !stays && s.kept == nil {
			var err error
			if s.kept, err = newRewrite(j.renewed(), j.file); err != nil {
				return err
			}
			if _, err := io.Copy(s.kept.w, io.NewSectionReader(j.file, 0, start+offset)); err != nil {
				return err
			}
		}
		if stays && s.kept != nil {
			_, err := s.kept.w.Write(row)
			return err
		}
		return nil
	})
	s.end = start + end
	return err
}

// replaceFile replaces the file with the copy of the remaining rows.
func (j *Journal) replaceFile(s *fileScan) (err error) {
	if err := s.kept.finish(); err != nil {
		return err
	}
	// Some systems cannot rename open files.
	if err := errors.Join(j.file.Close(), os.Rename(j.renewed(), j.path)); err != nil {
		return err
	}
	if j.file, err = os.OpenFile(j.path, os.O_RDWR, 0); err != nil {
		return err
	}
	j.size, err = j.file.Seek(0, io.SeekEnd)
	if err == nil {
		err = syncDir(j.path)
	}
	return err
}

// A rewrite is a file that will replace another file.
type rewrite struct {
	f *os.File
	w *bufio.Writer
}

// newRewrite creates a file with the permissions of another file.
func newRewrite(path string, as *os.File) (*rewrite, error) {
	mode := os.FileMode(0o666)
	if info, err := as.Stat(); err == nil {
		mode = info.Mode().Perm()
	}
	if err := remove(path); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return nil, err
	}
	return &rewrite{f, bufio.NewWriterSize(f, 256<<10)}, nil
}

// finish flushes the file to disk before the caller renames it, because otherwise a power
// failure could leave an empty file.
func (c *rewrite) finish() error {
	err := errors.Join(c.w.Flush(), c.f.Sync(), c.f.Close())
	if err == nil {
		c.f = nil
	}
	return err
}

// discard removes an unfinished file.
func (c *rewrite) discard() {
	if c != nil && c.f != nil {
		c.f.Close()
		_ = os.Remove(c.f.Name())
	}
}
