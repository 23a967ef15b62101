// Package rdapqtest provides an RDAP server for tests of programs that use rdapq. The server is
// real: it listens on a loopback address with TLS, HTTP/1.1 and HTTP/2. It has the objects and
// the faults that the test specifies, and counts requests and connections.
//
// Start with [NewServer], and pass its [Server.Config] to the code under test:
//
//	s := rdapqtest.NewServer(t, map[string][]byte{
//		"domain/example.com": rdapqtest.Domain{Name: "example.com"}.JSON(),
//	})
//	c, err := client.New(s.Config())
//
// Every query goes to the server, whatever its top-level domain. For other objects, the server
// responds with 404. [Server.Set] changes an object during the test, and [Server.SetFaults]
// makes the server fail:
//
//	s.SetFaults("domain/*", rdapqtest.RateLimit(10, time.Minute))
//
// # Time
//
// A test of time limits, rate limits or retries should not wait for them. [NewMemoryServer]
// returns a server with connections in memory, for a test in a bubble of testing/synctest.
// There, a Retry-After of an hour takes no time. With -race, keep such tests to a few hundred
// requests: many timers in a bubble may crash the race detector (golang/go#78156).
package rdapqtest
