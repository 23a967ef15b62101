package main

import (
	"os"
	"path/filepath"

	"github.com/rdapq/rdapq/client"
)

// openBudgets opens what is kept between runs of the limits of servers, so that
// a batch that is gone on with does not ask more than one that was never
// interrupted. It is nil where it can't be kept.
func (a *app) openBudgets() *client.BudgetFile {
	dir, err := stateDir()
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	var f *client.BudgetFile
	if err == nil {
		f, err = client.OpenBudgetFile(filepath.Join(dir, "budgets"))
	}
	if err != nil {
		a.warn("limits of servers are not kept between runs: " + err.Error())
		return nil
	}
	return f
}
