// Package journal makes the output of a batch a record of what is done: a run
// that was interrupted, by kill -9 at any moment too, goes on where it stopped
// when it is started again in the same way, and no line stands in the file
// twice.
//
// Start with [Open]. The file holds whole rows, one a line, which carry the line
// number of the input and the verdict. Beside it stands FILE.rdapq, which says
// what input and flags the rows are of, and for rows in order also
// FILE.rdapq-waiting with those whose turn has not come.
package journal
