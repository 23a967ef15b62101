// Package input reads the queries of a batch from text, CSV or NDJSON, plain or
// compressed by gzip, in UTF-8 or in UTF-16 with a byte-order mark, one record at
// a time and in bounded memory however long the input or a record is.
//
// Start with [Open]. What goes wrong with one record (a stray quote, broken
// JSON) is a [*RecordError] in its place, and reading goes on with the next.
package input
