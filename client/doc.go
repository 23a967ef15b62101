// Package client looks up domains, addresses, AS numbers, entities and nameservers at RDAP
// servers, one at a time or by the million.
//
// Start with [New] and the zero [Config], convert text to a [Query] with [Parse], and look it
// up with [Client.Lookup]:
//
//	c, err := client.New(client.Config{})
//	if err != nil {
//		return err
//	}
//	defer c.Close()
//	q, err := client.Parse("example.com")
//	if err != nil {
//		return err
//	}
//	r, err := c.Lookup(ctx, q)
//
// For many queries use [Client.Batch], which takes a sequence of inputs. [Batch.All] returns a
// sequence of results: exactly one per input, in the order of completion. Use one
// Client for a whole program: it reuses connections, whose set-up takes most of the time of an
// RDAP lookup.
//
// The [Verdict] of a Result is the outcome of the lookup. A 404 is a result, [VerdictNotFound]: the
// server has no such object, which does not mean that a name can be registered. An error says
// nothing about the object.
//
// [Result.Raw] is the server's response, unchanged. Store only Raw: methods decode every typed
// view from it on demand.
//
// # Compatibility
//
// Verdicts, types and the codes of an [Error] are stable: new values may be added, but no value
// changes its meaning. Struct fields may be added, so write composite literals with field
// names. The wording of messages, hints and warnings is for people and may change.
package client
