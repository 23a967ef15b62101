package journal

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/rdapq/rdapq/internal/order"
	"github.com/rdapq/rdapq/internal/statefile"
)

// SidecarSuffix is appended to the name of the journal to form the name of its sidecar.
const SidecarSuffix = ".rdapq"

func (j *Journal) sidePath() string { return j.path + SidecarSuffix }
func (j *Journal) waiting() string  { return j.path + SidecarSuffix + "-waiting" }
func (j *Journal) renewed() string  { return j.path + SidecarSuffix + "-new" }

// open examines the files and starts or resumes the journal.
func (j *Journal) open() error {
	size, _, err := stat(j.path)
	if err != nil {
		return err
	}
	_, known, err := stat(j.sidePath())
	if err != nil {
		return err
	}
	if size > 0 && !known && !j.o.Overwrite {
		return ErrForeign
	}
	if j.side, err = os.OpenFile(j.sidePath(), os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return err
	}
	if ok, err := statefile.TryLock(j.side); err != nil || !ok {
		return errors.Join(err, ErrLocked)
	}
	was, err := readSidecar(j.side)
	if err != nil && !j.o.Overwrite {
		if errors.Is(err, errNoSidecar) {
			return ErrForeign
		}
		return err
	}
	// The removal is safe only with the lock.
	for _, left := range []string{j.renewed(), j.waiting() + ".new"} {
		if err := remove(left); err != nil {
			return err
		}
	}
	size, there, err := stat(j.path)
	if err != nil {
		return err
	}
	waiting, _, err := stat(j.waiting())
	if err != nil {
		return err
	}
	if j.o.Overwrite || !there || size == 0 && waiting == 0 {
		return j.start()
	}
	if was == nil {
		return ErrForeign
	}
	now := j.o.sidecar(was.Salt)
	if err := compare(was, &now); err != nil {
		return err
	}
	return j.resume(was)
}

// stat returns the size of a file and whether it exists.
func stat(path string) (size int64, there bool, err error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0, false, nil
	case err != nil:
		return 0, false, err
	}
	return info.Size(), true, nil
}

// start creates a journal without rows. If the process is killed meanwhile, the files
// do not look like a journal with rows.
func (j *Journal) start() (err error) {
	if err := remove(j.waiting()); err != nil {
		return err
	}
	if j.file, err = os.OpenFile(j.path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o666); err != nil {
		_ = os.Remove(j.sidePath()) // do not leave a sidecar without a journal
		return err
	}
	s := j.o.sidecar("")
	data, err := s.bytes()
	if err != nil {
		return err
	}
	_ = j.side.Chmod(0o600) // older versions made the sidecar readable for others; Chmod fails on some systems
	if err := j.side.Truncate(0); err != nil {
		return err
	}
	if _, err := j.side.WriteAt(data, 0); err != nil {
		return err
	}
	if j.o.Fsync {
		if err := errors.Join(j.side.Sync(), syncDir(j.path)); err != nil {
			return err
		}
	}
	j.buf = append(j.buf, j.o.Header...)
	if j.o.Ordered {
		j.newQueue()
	}
	return nil
}

func (j *Journal) newQueue() {
	j.queue = order.NewQueue(order.Config{
		Path: j.waiting(), Dir: filepath.Dir(j.path),
		Emit: func(row []byte) error { j.buf = append(j.buf, row...); return nil },
	})
}

// mark overwrites the members of the sidecar that describe progress, which come first.
func (j *Journal) mark(complete bool, rows int64) error {
	if _, err := j.side.WriteAt([]byte(sidecarMark(complete, rows)), 0); err != nil {
		return err
	}
	if j.o.Fsync {
		return j.side.Sync()
	}
	return nil
}

func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// syncDir flushes the directory of path to disk. It ignores systems that do not support
// this.
func syncDir(path string) error {
	d, err := os.Open(filepath.Dir(path))
	if err != nil {
		return nil
	}
	_ = d.Sync()
	return d.Close()
}

// Discard removes the sidecar and the waiting rows of a journal, before the caller
// overwrites the file itself. It fails with [ErrLocked] if a process has the journal open,
// and does nothing if the file at path is not a journal.
func Discard(path string) error {
	path, err := statefile.ResolveLinks(path)
	if err != nil {
		return err
	}
	j := &Journal{path: path}
	side, err := os.OpenFile(j.sidePath(), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	j.side = side
	if _, err := readSidecar(side); err != nil {
		return j.release() // the file is not a sidecar
	}
	if ok, err := statefile.TryLock(side); err != nil || !ok {
		return errors.Join(err, ErrLocked, j.release())
	}
	// Some systems cannot remove open files.
	return errors.Join(remove(j.waiting()), j.release(), remove(j.sidePath()))
}
