// Package input reads the queries of a batch from text, CSV or NDJSON. The input is plain or
// compressed with gzip, and in UTF-8, or in UTF-16 with a byte-order mark. It reads one record
// at a time, in bounded memory for inputs and records of any length. The package does not deal
// with lookups and does not parse queries.
//
// Start with [Open]. An invalid record, for example with a stray quote or invalid JSON, yields
// a [*RecordError], and reading continues with the next record.
package input
