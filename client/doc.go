// Package client asks RDAP servers about domains, addresses, AS numbers,
// entities and nameservers, one at a time or by the million.
//
// Start with [New] and the zero [Config], make a [Query] of what a person
// wrote with [Parse], and ask with [Client.Lookup]:
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
// Many queries go through [Client.Batch], which takes a sequence of inputs and
// gives a sequence of results: exactly one for each input, as answers come.
// Use one Client for all that a program asks: it keeps connections to the
// servers, and most of the time of an RDAP lookup is setting those up.
//
// What came of a query is its [Verdict]. A 404 is an answer, [NotFound], and
// says that the server asked knows no such object; it is never a promise that
// a name can be registered. An error says nothing about the object at all.
//
// [Result.Raw] is the server's answer as it came, and the one thing to keep:
// every typed view is made of it on demand.
//
// # Compatibility
//
// Verdicts, types and the codes of an [Error] are stable words: new ones may be
// added, none changes its meaning. Struct fields may be added, so write
// composite literals with field names. The wording of messages, hints and
// warnings is for people and may change.
package client
