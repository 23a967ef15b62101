// Package render formats results as text for people and as JSON, NDJSON and CSV for programs.
// It does not use the network, flags or files.
//
// Start with [NewEncoder]. All text from servers passes through [Safe] before it reaches a
// terminal, so a response cannot move the cursor, nor hide or reorder output. Rows for programs
// escape the same characters as JSON, so that rows have no effect on terminals either.
package render
