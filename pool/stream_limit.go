package pool

// A streamLimit is how many requests at a time a connection was seen to take,
// where the server refuses streams (RFC 9113 section 8.7) below the limit that
// it announced, or announced none. Refusals lower it. It rises again by one
// after a number of responses, which grows each time the next stream is refused.
type streamLimit struct {
	n          int     // 0: nothing was learned
	assumed    bool    // n comes from another connection, and an announcement replaces it
	share      float64 // of refusals among the last outcomes
	responses  int     // responses since n changed
	raiseAfter int     // responses that raise n
	probing    bool    // n was raised just now
}

const (
	shareWeight      = 8   // outcomes that share looks back on, about
	highRefusalShare = 0.2 // share from which refusals are about the number of streams
	lowRefusalShare  = 0.05
	firstRaise       = 16
	maxRaise         = 1024
	probeSuccess     = 8 // responses that prove a raised limit
)

// refused notes a refusal beside other requests in flight. Promised is the limit
// that the server announced, 0 if it did not.
func (l *streamLimit) refused(others, promised int) {
	l.share += (1 - l.share) / shareWeight
	switch {
	case l.probing && others >= l.n-1:
		l.n, l.probing, l.responses = l.n-1, false, 0
		l.raiseAfter = min(2*l.raiseAfter, maxRaise)
	case l.share > highRefusalShare && (l.n == 0 || others < l.n), l.n == 0 && others < promised:
		l.n, l.probing, l.assumed, l.responses = max(others, 1), false, false, 0
		l.raiseAfter = max(l.raiseAfter, firstRaise)
	}
}

// accepted notes a response. The connection is full if it carries as many
// requests as it takes.
func (l *streamLimit) accepted(full bool) {
	l.share -= l.share / shareWeight
	if l.n == 0 {
		return
	}
	l.responses++
	if l.probing && l.responses >= probeSuccess {
		l.probing, l.raiseAfter = false, max(l.raiseAfter/2, firstRaise)
	}
	if full && !l.probing && l.responses >= l.raiseAfter {
		l.n, l.probing, l.responses = l.n+1, true, 0
	}
}

// reliable reports whether n is what the server takes, and not only what remained
// after a few refusals: hardly any came since.
func (l *streamLimit) reliable() bool {
	return l.n > 0 && !l.assumed && l.responses >= firstRaise && l.share < lowRefusalShare
}

// unproven reports whether nothing is known of how many requests c takes.
func (c *conn) unproven() bool {
	if c.protocol != protoHTTP2 || c.served > 0 || c.limit.n > 0 && c.limit.assumed {
		return false
	}
	_, announced := c.announcedStreams()
	return !announced
}

// announcedStreams is the stream limit that the server announced on c.
func (c *conn) announcedStreams() (n int, ok bool) {
	if t, is := c.cc.(*tcpClientConn); is {
		return t.raw.limit()
	}
	return 0, false
}

// freeCapacity is how many requests c takes at a time now; 0 if it takes none.
func (c *conn) freeCapacity() int {
	n := c.cc.Available()
	if n == 0 || c.paused {
		return 0
	}
	if c.limit.n == 0 && c.protocol != protoHTTP2 {
		return n
	}
	_, announced := c.announcedStreams()
	switch {
	case announced && c.limit.assumed:
		c.limit = streamLimit{}
	case c.limit.n > 0:
		return min(n, c.limit.n)
	case announced:
		return n
	case c.served > 0:
		return min(n, slowStart+2*c.served)
	}
	return n
}

// knownStreams is how many requests at a time c is known to take. It is false if
// that is not known.
func (c *conn) knownStreams() (int, bool) {
	if c.protocol != protoHTTP2 {
		return 0, false
	}
	n, ok := c.announcedStreams()
	if c.limit.reliable() {
		return min(n, c.limit.n), true
	}
	return n, ok
}
