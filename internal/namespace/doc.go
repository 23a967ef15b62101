// Package namespace runs a test in its own network namespace, in which the test may use any
// address and answer DNS queries for any name. It works only on Linux, and does not depend on
// the packages under test.
package namespace
