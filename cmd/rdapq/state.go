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

// makeStateDir makes that folder. It is empty where there can be none, which is
// told once.
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

// A state is what is kept between runs about servers. Both may be nil: then it
// is not kept.
type state struct {
	sessions *pool.SessionFile // TLS sessions, so that handshakes resume
	facts    *pool.FactFile    // protocols that servers speak
}

// openState opens what the flags allow and gives it to the pool.
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
	if s.facts, err = pool.OpenFactFile(filepath.Join(dir, "hosts")); err != nil {
		a.warn("protocol support is not saved between runs: " + err.Error())
	} else {
		c.Facts = s.facts
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
