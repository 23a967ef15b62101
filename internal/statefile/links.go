package statefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// maxLinks limits a chain of symbolic links, as Linux does.
const maxLinks = 40

// ResolveLinks follows symbolic links to a file, because renaming a file over a link would
// replace the link. The target need not exist.
func ResolveLinks(path string) (string, error) {
	for range maxLinks {
		real, err := filepath.EvalSymlinks(path)
		if !errors.Is(err, fs.ErrNotExist) {
			return real, err
		}
		to, err := os.Readlink(path)
		if err != nil {
			return path, nil // path is not a link, or does not exist
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		path = to
	}
	return path, nil // opening path returns the error
}
