// Package namespace runs a test in a network of its own, where it may take any
// address, answer for any name, and break what it likes. It works on Linux.
package namespace
