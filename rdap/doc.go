// Package rdap reads RDAP responses (RFC 9083): objects, search results, help and
// errors, with their contacts (jCard, RFC 7095; JSContact, RFC 9553) and extensions.
//
// Read decodes a response into a [Record], Summarize into the flat [Summary], and
// Parse validates one for several of its methods. All of them accept what servers
// send in practice and report defects as [Problem] values. The only error is a
// [*FormatError], for a body that is not a JSON object.
//
// The package does not deal with queries, servers, HTTP or connections: it imports no
// network package.
package rdap
