// Package rdap reads RDAP responses (RFC 9083): objects, search results, help and errors, with
// their contacts (jCard, RFC 7095; JSContact, RFC 9553) and extensions.
//
// Read decodes a response into a [Record], Summarize into the flat [Summary], and Parse
// validates a response that several methods then use. All three accept the deviations that are
// common in practice, and report defects as [Problem] values. They fail only for a body that is
// not a JSON object, with a [*FormatError].
//
// The package does not deal with queries, servers, HTTP or connections: it imports no network
// package.
package rdap
