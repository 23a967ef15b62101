// Package journal makes the output file of a batch resumable. A run that was interrupted, even
// by kill -9, continues where it stopped when it is started again with the same input and
// flags. The file has at most one row per line. The package does not deal with lookups, flags
// or the content of rows beyond line and verdict.
//
// Start with [Open]. The file has one row per line, with the line number of the input and the
// verdict. FILE.rdapq in the same directory identifies the input and the flags. For rows in
// order, FILE.rdapq-waiting has the rows that come after a missing row.
package journal
