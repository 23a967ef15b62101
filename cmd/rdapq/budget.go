package main

import (
	"path/filepath"

	"github.com/rdapq/rdapq/limit"
)

// openBudgets opens what is kept between runs of the limits of servers, so that
// a batch that is gone on with does not ask more than one that was never
// interrupted. It is nil where it can't be kept.
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
