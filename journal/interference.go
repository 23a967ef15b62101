package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// An InterferenceError reports that another program removed, replaced or changed a file of the
// open journal. The journal then writes nothing more, because rows would be lost or
// overwritten.
type InterferenceError struct {
	Path string
	What string // description of the change
}

func (e *InterferenceError) Error() string {
	return fmt.Sprintf("%s %s by another program during the run", e.Path, e.What)
}

// verify checks that the files of the journal are in place, and that the file with the
// rows has the expected size.
func (j *Journal) verify() error {
	if j.file == nil || j.side == nil {
		return nil
	}
	if _, err := statInPlace(j.side, j.sidePath()); err != nil {
		return err
	}
	info, err := statInPlace(j.file, j.path)
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

// statInPlace returns the file info of f if path still refers to f.
func statInPlace(f *os.File, path string) (os.FileInfo, error) {
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
