// Package order tracks the lines of a batch. A [Set] stores millions of line numbers in little
// memory. A [Queue] sorts rows by line in limited memory, no matter how long a row is missing.
// The package does not depend on the content of rows.
package order
