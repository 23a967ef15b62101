package journal

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/rdapq/rdapq/internal/order"
	"github.com/rdapq/rdapq/internal/statefile"
)

// SidecarSuffix is what the name of the sidecar ends with, after that of the
// journal.
const SidecarSuffix = ".rdapq"

func (j *Journal) sidePath() string { return j.path + SidecarSuffix }
func (j *Journal) waiting() string  { return j.path + SidecarSuffix + "-waiting" }
func (j *Journal) renewed() string  { return j.path + SidecarSuffix + "-new" }

// maxLinks is how many links that lead to one another are followed, as many as
// Linux does.
const maxLinks = 40

// Resolve follows links to where the journal of that name is: files are put in
// its place by renaming, and others belong to it. A link may lead to a file that
// is not there yet.
func Resolve(path string) (string, error) {
	for range maxLinks {
		real, err := filepath.EvalSymlinks(path)
		if !errors.Is(err, fs.ErrNotExist) {
			return real, err
		}
		to, err := os.Readlink(path)
		if err != nil {
			return path, nil // it is no link, or there is none
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		path = to
	}
	return path, nil // opening it says what is wrong
}

// open finds out what there is, and begins or goes on.
func (j *Journal) open() error {
	size, _, err := stat(j.path)
	if err != nil {
		return err
	}
	_, known, err := stat(j.sidePath())
	if err != nil {
		return err
	}
	if size > 0 && !known && !j.o.Force {
		return ErrForeign
	}
	if j.side, err = os.OpenFile(j.sidePath(), os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return err
	}
	if ok, err := statefile.TryLock(j.side); err != nil || !ok {
		return errors.Join(err, ErrLocked)
	}
	was, err := readSidecar(j.side)
	if err != nil && !j.o.Force {
		if errors.Is(err, errNoSidecar) {
			return ErrForeign
		}
		return err
	}
	// Now that nobody else is at work.
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
	if j.o.Force || !there || size == 0 && waiting == 0 {
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

// stat returns the size of a file, and whether it is there.
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

// start begins a journal without rows. Whoever is killed on the way leaves
// nothing that could be taken for one with rows.
func (j *Journal) start() (err error) {
	if err := remove(j.waiting()); err != nil {
		return err
	}
	if j.file, err = os.OpenFile(j.path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o666); err != nil {
		_ = os.Remove(j.sidePath()) // it would stand there alone
		return err
	}
	s := j.o.sidecar("")
	data, err := s.bytes()
	if err != nil {
		return err
	}
	_ = j.side.Chmod(0o600) // an older version let others read it; not all systems can
	if err := j.side.Truncate(0); err != nil {
		return err
	}
	if _, err := j.side.WriteAt(data, 0); err != nil {
		return err
	}
	if j.o.Fsync {
		if err := errors.Join(j.side.Sync(), syncFolder(j.path)); err != nil {
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

// mark overwrites whether the journal is complete, and then of how many rows.
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

// syncFolder has the disk store the names in the folder of path. Some systems
// can't, which is not worth a run.
func syncFolder(path string) error {
	d, err := os.Open(filepath.Dir(path))
	if err != nil {
		return nil
	}
	_ = d.Sync()
	return d.Close()
}

// Discard removes what makes the file of that name a journal, for it to be
// overwritten by something else. A file that is none is left alone.
func Discard(path string) error {
	path, err := Resolve(path)
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
		return j.release() // somebody else's
	}
	if ok, err := statefile.TryLock(side); err != nil || !ok {
		return errors.Join(err, ErrLocked, j.release())
	}
	// Closed before, or some systems refuse it.
	return errors.Join(remove(j.waiting()), j.release(), remove(j.sidePath()))
}
