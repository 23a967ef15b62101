// Package order keeps track of the lines of a batch: a [Set] of line numbers
// that stays small for millions of them, and a [Queue] that puts rows into the
// order of their lines, in bounded memory however long one of them is waited
// for.
package order
