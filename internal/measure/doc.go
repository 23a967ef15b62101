// Package measure runs the same lookups in several modes, interleaved, and measures time,
// connections, handshakes, round trips, bytes and CPU time of each mode.
//
// Start with [Run]. It returns a [Report], which bench prints as JSON and formats as a table
// and a page. A [Recorder] makes a Report of an ordinary run. The package does not determine
// how a Report is displayed.
package measure
