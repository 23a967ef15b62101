package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/rdapq/rdapq/internal/statefile"
	"github.com/rdapq/rdapq/journal"
)

// A place is a file that a run reads or writes, and the flag that named it.
type place struct {
	flag string
	path string      // path with symbolic links resolved; empty if info is set
	info os.FileInfo // nil if the file does not exist
}

// checkFiles returns an error if a run would write to a file that it also reads, or twice to
// the same file. Otherwise one output could overwrite the other, and results appended to the
// input would be read as queries forever. It checks only regular files.
func (a *app) checkFiles() error {
	o := &a.opts
	read := places(map[string]string{
		"--ca": o.ca, "--bootstrap-overrides": o.overrides, "--registrars": o.referral.registrars,
	})
	switch o.file {
	case "":
	case "-":
		read = append(read, opened("standard input", a.stdin)...)
	default:
		read = append(read, places(map[string]string{"--file": o.file})...)
	}
	wrote := places(map[string]string{"--output": o.output, "--stats-file": o.statsFile, "--report": o.report})
	if o.output == "" {
		wrote = append(wrote, opened("standard output", a.stdout)...)
	}
	for i, w := range wrote {
		for _, r := range read {
			if w.sameAs(r) {
				return usagef(about(w.flag, r.flag), "choose another file", "%s and %s are the same file", w.flag, r.flag)
			}
		}
		for _, other := range wrote[:i] {
			if w.sameAs(other) {
				return usagef(about(other.flag, w.flag), "choose another file", "%s and %s are the same file", other.flag, w.flag)
			}
		}
		if o.output != "" && w.flag != "--output" && w.sameAs(placeOf("", o.output+journal.SidecarSuffix)) {
			return usagef(about("output"), "choose another file", "%s would overwrite the state of --output", w.flag)
		}
	}
	return nil
}

// places returns the places of the named files, in the order of their flags.
func places(named map[string]string) []place {
	var list []place
	for _, flag := range []string{"--file", "--ca", "--bootstrap-overrides", "--registrars", "--output", "--stats-file", "--report"} {
		if name := named[flag]; name != "" {
			list = append(list, placeOf(flag, name))
		}
	}
	return list
}

func placeOf(flag, name string) place {
	p := place{flag: flag}
	if p.info, _ = os.Stat(name); p.info != nil {
		return p
	}
	p.path = name
	if path, err := statefile.ResolveLinks(name); err == nil {
		p.path = path
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(p.path)); err == nil {
		p.path = filepath.Join(dir, filepath.Base(p.path))
	}
	if path, err := filepath.Abs(p.path); err == nil {
		p.path = path
	}
	return p
}

// opened returns the place of a stream if it is a file.
func opened(flag string, stream any) []place {
	if f, ok := stream.(*os.File); ok {
		if info, err := f.Stat(); err == nil {
			return []place{{flag: flag, info: info}}
		}
	}
	return nil
}

// sameAs reports whether two places are, or will be, the same regular file.
func (p place) sameAs(other place) bool {
	if p.info == nil || other.info == nil {
		return p.info == nil && other.info == nil && p.path == other.path
	}
	return p.info.Mode().IsRegular() && os.SameFile(p.info, other.info)
}

// openError returns the error for an output file that could not be opened. The error has the
// name that the user gave, and a hint.
func openError(flag, what, name string, err error) error {
	// A journal opens its sidecar file before FILE. If the sidecar could not be created, FILE
	// would fail for the same reason, so the error names FILE.
	path, ok := errors.AsType[*fs.PathError](err)
	if ok && path.Path != name {
		if _, e := os.Lstat(path.Path); e != nil {
			err = &fs.PathError{Op: path.Op, Path: name, Err: path.Err}
		} else if path.Path == name+journal.SidecarSuffix {
			return noRunf(about(flag), "move "+path.Path+" away, or choose another file: it holds the state of "+name, "cannot write the %s: %w", what, err)
		}
	}
	dir := filepath.Dir(name)
	info, e := os.Stat(dir)
	hint := ""
	switch {
	case errors.Is(e, fs.ErrNotExist):
		hint = "create the directory " + dir + ", or choose another file"
	case e == nil && !info.IsDir():
		hint = "choose another file: " + dir + " is not a directory"
	case errors.Is(err, fs.ErrPermission):
		hint = "choose a file you have permission to write"
	default:
		if info, e := os.Stat(name); e == nil && info.IsDir() {
			hint = "choose a file in the directory " + name
		}
	}
	return noRunf(about(flag), hint, "cannot write the %s: %w", what, err)
}
