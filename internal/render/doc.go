// Package render turns results into text for people and into JSON, NDJSON and
// CSV for programs. It knows nothing of the network.
//
// Start with [NewEncoder]. Whatever a server said reaches a terminal through
// [Safe] and nothing else, so that an answer can neither move the cursor nor
// hide or reorder what is shown. Rows for programs carry the same characters
// as JSON escapes, which mean the same and do nothing to a terminal either.
package render
