package client

import "time"

// A HoldReason is why a server gets no requests for a while, or fewer.
type HoldReason string

// Reasons to hold requests to a server back.
const (
	HoldLimit   HoldReason = "rate_limit" // it refuses requests as too many
	HoldOutage  HoldReason = "outage"     // it fails, refuses connections or is silent
	HoldBlocked HoldReason = "blocked"    // it refuses every request, and not in RDAP
)

// A Hold is an event: the requests to a server are held back.
type Hold struct {
	Server string     // host, with its port if that is unusual, or name of the group
	Reason HoldReason // why
	Status int        // HTTP status of the response that led to it; 0: there was none
	Until  time.Time  // no request is sent before
	Rate   Rate       // the limit that is kept to from now on; zero: none
}

// hold notes why the host is held back, and announces it once for each reason.
func (h *host) hold(why HoldReason, s sample, until time.Time) {
	h.holds = why
	i := map[HoldReason]int{HoldLimit: 0, HoldOutage: 1, HoldBlocked: 2}[why]
	if h.announced[i] {
		return
	}
	h.announced[i] = true
	h.news.Store(true)
	h.announcements = append(h.announcements, Hold{Server: h.name, Reason: why, Status: s.status, Until: until, Rate: h.known()})
}

// announce calls Config.OnHold for what the host has to announce.
func (c *Client) announce(h *host) {
	if !h.news.Swap(false) {
		return
	}
	h.mu.Lock()
	list := h.announcements
	h.announcements = nil
	h.mu.Unlock()
	if c.cfg.OnHold == nil {
		return
	}
	for _, hold := range list {
		c.cfg.OnHold(hold)
	}
}
