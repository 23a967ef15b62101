// Package pool is an [http.RoundTripper] that pays for as few connections and
// TLS handshakes as the servers allow.
//
// Start with [New]. A Pool keeps a small pool of connections for each origin.
package pool
