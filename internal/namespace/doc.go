// Package namespace runs a test in its own network namespace, where it may use any
// address and answer DNS queries for any name. It works on Linux. It does not depend on
// the packages under test.
package namespace
