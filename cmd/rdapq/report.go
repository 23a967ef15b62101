package main

import (
	"os"

	"github.com/rdapq/rdapq/internal/measure"
	"github.com/rdapq/rdapq/internal/report"
)

// openReport opens the file of --report before anything is asked. It is nil
// without one.
func (a *app) openReport() (*os.File, error) {
	if a.opts.report == "" {
		return nil, nil
	}
	f, err := os.Create(a.opts.report)
	if err != nil {
		return nil, openError("report", "report", a.opts.report, err)
	}
	return f, nil
}

// writeReport writes the page and closes its file.
func writeReport(f *os.File, r *measure.Report) error {
	err := report.WriteHTML(f, r)
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		return noRunf(about("report"), "", "cannot write the report: %w", err)
	}
	return nil
}
