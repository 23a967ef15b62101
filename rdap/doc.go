// Package rdap reads RDAP responses (RFC 9083): objects, search results, help and
// errors, with their contacts (jCard, RFC 7095; JSContact, RFC 9553) and extensions.
//
// Read decodes a response into a [Record], Summarize into the flat [Summary], and
// Parse checks one for several readers. They take what servers send in practice and
// report what was out of order as [Problem] values; only a body that is not a JSON
// object is an error, a [*FormatError].
//
// The package knows nothing of queries, servers, HTTP or connections: it has no
// network in its imports.
package rdap
