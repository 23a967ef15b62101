// Package report shows a [measure.Report]: as text for a terminal, as a table in
// Markdown, and as a page of HTML that needs nothing else. All of them have the
// same rows, and all numbers are the report's.
package report
