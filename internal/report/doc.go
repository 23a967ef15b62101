// Package report formats a [measure.Report]: as text for a terminal, as a Markdown table, and
// as a self-contained HTML page. All three have the same rows. The package computes no results:
// all numbers come from the report.
package report
