package main

import (
	"os"
	"path/filepath"

	"github.com/rdapq/rdapq/pool"
)

// stateDir is where what was learned about servers is kept between runs.
func stateDir() (string, error) {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "rdapq"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(home, ".local", "state", "rdapq"), nil
}

// openSessions opens the store of TLS sessions, or returns nil where none are
// to be kept.
func (a *app) openSessions() *pool.SessionFile {
	if a.opts.net.noSessions || a.opts.net.noReuse {
		return nil
	}
	dir, err := stateDir()
	if err == nil {
		var f *pool.SessionFile
		if f, err = pool.OpenSessionFile(filepath.Join(dir, "sessions"), 0, a.logger()); err == nil {
			return f
		}
	}
	a.warn("TLS sessions are not kept between runs: " + err.Error())
	return nil
}
