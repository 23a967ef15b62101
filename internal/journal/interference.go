package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// An InterferenceError says that another program removed, replaced or changed a
// file of the journal while it was open. Rows are then lost or would be
// overwritten, so nothing more is written.
type InterferenceError struct {
	Path string
	What string // what happened to it, in a few words
}

func (e *InterferenceError) Error() string {
	return fmt.Sprintf("%s %s by another program during the run", e.Path, e.What)
}

// verify reports whether the files of the journal are still in their places and,
// of the one with the rows, of the size that this journal gave it.
func (j *Journal) verify() error {
	if j.file == nil || j.side == nil {
		return nil
	}
	if _, err := inPlace(j.side, j.sidePath()); err != nil {
		return err
	}
	info, err := inPlace(j.file, j.path)
	if err != nil {
		return err
	}
	switch size := info.Size(); {
	case size < j.size:
		return &InterferenceError{j.path, fmt.Sprintf("was truncated from %d to %d bytes", j.size, size)}
	case size > j.size:
		return &InterferenceError{j.path, fmt.Sprintf("was appended to, from %d to %d bytes,", j.size, size)}
	}
	return nil
}

// inPlace returns what the system says of f, if it is the file at path.
func inPlace(f *os.File, path string) (os.FileInfo, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	there, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &InterferenceError{path, "was removed or renamed"}
	case err != nil:
		return nil, err
	case !os.SameFile(info, there):
		return nil, &InterferenceError{path, "was replaced"}
	}
	return info, nil
}
