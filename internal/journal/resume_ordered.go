package journal

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
)

// surveyOrdered reads the rows of a file in order. The file keeps what stands
// before the first row that is asked again; rows after that one have to wait
// for it, as others do already.
func (j *Journal) surveyOrdered(s *survey, parse parser, start int64) error {
	n := int64(bytes.Count(j.o.Header, []byte{'\n'}))
	cut := int64(-1)
	end, err := rows(io.NewSectionReader(j.file, start, 1<<62), func(row []byte, offset int64) error {
		n++
		line, verdict, ok := parse(row)
		switch {
		case !ok:
			return &CorruptError{j.path, n}
		case cut >= 0:
			return j.move(s, row, line, verdict)
		case !j.note(line, verdict):
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
	if s.moved == nil {
		return nil
	}
	return j.waitingRows(parse, func(row []byte, line int64, verdict string, _ int64) error {
		return j.move(s, row, line, verdict)
	})
}

// move has a row wait, if it stays.
func (j *Journal) move(s *survey, row []byte, line int64, verdict string) (err error) {
	if !j.stays(line, verdict) {
		return nil
	}
	if s.moved == nil {
		if s.moved, err = newCopy(j.waiting()+".new", j.file); err != nil {
			return err
		}
	}
	_, err = s.moved.w.Write(row)
	return err
}

// waitingRows calls f for the rows that wait.
func (j *Journal) waitingRows(parse parser, f func(row []byte, line int64, verdict string, offset int64) error) error {
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
		line, verdict, ok := parse(row)
		if !ok {
			return &CorruptError{j.waiting(), n}
		}
		return f(row, line, verdict, offset)
	})
	return err
}

// settleOrdered brings both files into the state that was surveyed. Rows that
// move are where they move to before they leave the file.
func (j *Journal) settleOrdered(s *survey, parse parser) error {
	if s.moved != nil {
		if err := s.moved.finish(); err != nil {
			return err
		}
		if err := errors.Join(os.Rename(j.waiting()+".new", j.waiting()), syncFolder(j.path)); err != nil {
			return err
		}
	}
	if err := j.file.Truncate(s.end); err != nil {
		return err
	}
	j.size = s.end
	return j.load(parse)
}

// load has the queue know the rows that wait. Those that are in the file too,
// which they came to before they left here, count once.
func (j *Journal) load(parse parser) error {
	j.newQueue()
	end := int64(0)
	err := j.waitingRows(parse, func(row []byte, line int64, verdict string, offset int64) error {
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
	// What is behind would be taken for rows again when less is written there.
	if err := os.Truncate(j.waiting(), end); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
