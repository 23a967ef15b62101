// Package measure runs the same lookups in several ways by turns, and says what
// each of them took: time, connections, handshakes, round trips, octets,
// processor time.
//
// Start with [Run]. What it returns, a [Report], is all there is to know: it is
// what bench prints as JSON, and what its table and its page are made of. A
// [Recorder] makes one of an ordinary run.
package measure
