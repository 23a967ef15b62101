// Package namespace runs a test in a network namespace of its own, where it may use
// any address and answer DNS queries for any name. It works on Linux. It must not
// know of the packages under test.
package namespace
