package main

import (
	"os"
	"path/filepath"

	"github.com/rdapq/rdapq/limit"
	"github.com/rdapq/rdapq/pool"
)

// stateDir returns the directory of the server state saved between runs.
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

// makeStateDir creates the directory of stateDir and returns its path. If it fails, it warns
// once and returns "".
func (a *app) makeStateDir() string {
	dir, err := stateDir()
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err == nil {
		return dir
	}
	if !a.warnedUnsaved {
		a.warnedUnsaved = true
		a.warn("server state is not saved between runs: " + err.Error())
	}
	return ""
}

// A state holds the files of server state. A nil file means that its state is not saved.
type state struct {
	sessions *pool.SessionFile // stores TLS sessions, so that handshakes resume
	origins  *pool.OriginFile  // stores supported protocols of servers
}

// openState opens the files that the flags allow and configures the pool to use them.
func (a *app) openState(c *pool.Config) state {
	var s state
	if a.opts.net.noReuse {
		return s
	}
	dir := a.makeStateDir()
	if dir == "" {
		return s
	}
	var err error
	if s.origins, err = pool.OpenOriginFile(filepath.Join(dir, "hosts")); err != nil {
		a.warn("protocol support is not saved between runs: " + err.Error())
	} else {
		c.Origins = s.origins
	}
	if a.opts.net.noSessions {
		return s
	}
	if s.sessions, err = pool.OpenSessionFile(filepath.Join(dir, "sessions"), 0, a.logger()); err != nil {
		a.warn("TLS sessions are not saved between runs: " + err.Error())
	} else {
		c.Sessions = s.sessions
	}
	return s
}

// openBudgets opens the rate limits saved between runs, so that a resumed batch sends no more
// than an uninterrupted one. It returns nil if rate limits cannot be saved.
func (a *app) openBudgets() *limit.File {
	dir := a.makeStateDir()
	if dir == "" {
		return nil
	}
	f, err := limit.OpenFile(filepath.Join(dir, "budgets"))
	if err != nil {
		a.warn("rate limits are not saved between runs: " + err.Error())
		return nil
	}
	return f
}
