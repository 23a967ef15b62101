package pool

// A streamLimit is the number of concurrent requests that a connection is known to accept. It
// matters if the server refuses streams (RFC 9113 section 8.7) below its announced limit or
// announced none. Refusals lower the limit. The limit rises by one after raiseAfter responses,
// and raiseAfter doubles if the server refuses the additional stream.
type streamLimit struct {
	n          int     // the limit; 0 means unknown
	assumed    bool    // n is from another connection; an announcement replaces it
	share      float64 // share of refusals among recent outcomes
	responses  int     // responses since n changed
	raiseAfter int     // responses after which n rises
	probing    bool    // n was just raised
}

const (
	shareWeight      = 8   // number of outcomes that share covers, approximately
	highRefusalShare = 0.2 // share from which on refusals are attributed to the number of streams
	lowRefusalShare  = 0.05
	firstRaise       = 16
	maxRaise         = 1024
	probeSuccess     = 8 // responses that confirm a raised limit
)

// refused records a refusal while other requests were in flight. promised is the
// announced limit, or 0.
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

// accepted records a response. full reports whether the connection carried n
// requests.
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

// reliable reports whether n is the server's limit, and not the effect of a few refusals,
// because there were hardly any refusals recently.
func (l *streamLimit) reliable() bool {
	return l.n > 0 && !l.assumed && l.responses >= firstRaise && l.share < lowRefusalShare
}

// unproven reports whether the number of requests that c accepts is unknown.
func (c *conn) unproven() bool {
	if c.protocol != protoHTTP2 || c.served > 0 || c.limit.n > 0 && c.limit.assumed {
		return false
	}
	_, announced := c.announcedStreams()
	return !announced
}

// announcedStreams returns the stream limit that the server announced on c.
func (c *conn) announcedStreams() (n int, ok bool) {
	if t, is := c.cc.(*tcpClientConn); is {
		return t.raw.limit()
	}
	return 0, false
}

// capacity returns the number of concurrent requests that c accepts now.
func (c *conn) capacity() int {
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

// knownStreams returns the number of concurrent requests that c is known to accept.
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
