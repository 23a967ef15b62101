package journal

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
)

// A survey is what was found in the file.
type survey struct {
	end   int64   // of what stays in the file
	copy  *copied // rows as they come: what stays, if not all does
	moved *copied // rows in order: those that have to wait, if some in the file do
}

// resume reads what the journal holds and drops what is to be asked again.
func (j *Journal) resume(was *sidecar) (err error) {
	parse, err := j.o.Format.parser(j.o.Header)
	if err != nil {
		return err
	}
	if j.file, err = os.OpenFile(j.path, os.O_RDWR, 0); err != nil {
		return err
	}
	start, err := j.checkHeader()
	if err != nil {
		return err
	}
	var s survey
	defer func() { s.copy.discard(); s.moved.discard() }()
	if j.o.Ordered {
		err = j.surveyOrdered(&s, parse, start)
	} else {
		err = j.survey(&s, parse, start)
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
		return j.settleOrdered(&s, parse)
	}
	if s.copy == nil {
		j.size = s.end
		return j.file.Truncate(s.end)
	}
	return j.replaceFile(&s)
}

// checkHeader returns where rows begin: after the header, or at the start of a
// file whose header broke off.
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
	return 0, &ChangedError{What: "the columns have changed"}
}

// stays reports whether a row is kept: its line is not to be asked again, and no
// row of it stands in the file before.
func (j *Journal) stays(line int64, verdict string) bool {
	if j.o.Retry != nil && j.o.Retry(verdict) {
		j.past.Retried++
		return false
	}
	return !j.finished.Has(line)
}

// note takes a row into account and reports whether it stays in the file.
func (j *Journal) note(line int64, verdict string) bool {
	if !j.stays(line, verdict) {
		return false
	}
	j.finished.Add(line)
	j.past.Rows++
	j.past.Verdicts[verdict]++
	return true
}

// survey reads the rows of the file, and copies them from the first one on that
// does not stay.
func (j *Journal) survey(s *survey, parse parser, start int64) error {
	n := int64(bytes.Count(j.o.Header, []byte{'\n'}))
	end, err := rows(io.NewSectionReader(j.file, start, 1<<62), func(row []byte, offset int64) error {
		n++
		line, verdict, ok := parse(row)
		if !ok {
			return &CorruptError{j.path, n}
		}
		stays := j.note(line, verdict)
		if !stays && s.copy == nil {
			var err error
			if s.copy, err = newCopy(j.renewed(), j.file); err != nil {
				return err
			}
			if _, err := io.Copy(s.copy.w, io.NewSectionReader(j.file, 0, start+offset)); err != nil {
				return err
			}
		}
		if stays && s.copy != nil {
			_, err := s.copy.w.Write(row)
			return err
		}
		return nil
	})
	s.end = start + end
	return err
}

// replaceFile puts the rows that stay in the place of the file.
func (j *Journal) replaceFile(s *survey) (err error) {
	if err := s.copy.finish(); err != nil {
		return err
	}
	// Closed on both sides, or some systems refuse it.
	if err := errors.Join(j.file.Close(), os.Rename(j.renewed(), j.path)); err != nil {
		return err
	}
	if j.file, err = os.OpenFile(j.path, os.O_RDWR, 0); err != nil {
		return err
	}
	j.size, err = j.file.Seek(0, io.SeekEnd)
	if err == nil {
		err = syncFolder(j.path)
	}
	return err
}

// A copied is a file that is being written to take the place of another.
type copied struct {
	f *os.File
	w *bufio.Writer
}

// newCopy creates a file that is as accessible as another one.
func newCopy(path string, as *os.File) (*copied, error) {
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
	return &copied{f, bufio.NewWriterSize(f, 256<<10)}, nil
}

// finish has all of it on the disk before it is renamed: otherwise a power cut
// could leave a name without content.
func (c *copied) finish() error {
	err := errors.Join(c.w.Flush(), c.f.Sync(), c.f.Close())
	if err == nil {
		c.f = nil
	}
	return err
}

// discard removes a copy that was not finished.
func (c *copied) discard() {
	if c != nil && c.f != nil {
		c.f.Close()
		_ = os.Remove(c.f.Name())
	}
}
