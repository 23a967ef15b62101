package pool

import (
	"context"
	"crypto/tls"
	"sync"
	"sync/atomic"
	"time"
)

// A TLS 1.3 ticket is used once. The server sends the next one when the handshake is
// done, a round trip after the response to early data. A connection closed at that
// response would leave no ticket. So a connection that used a ticket stays open, for
// a limited time, until the server has sent another.
const (
	minTicketWait    = 100 * time.Millisecond // minimum time to wait for a ticket
	ticketRoundTrips = 3                      // round trips to wait for a ticket, if longer
	maxTicketWait    = 600 * time.Millisecond
)

// A quicOffer is the [tls.ClientSessionCache] of one QUIC connection.
type quicOffer struct {
	*keyedSessions
	full           bool // offer no session, but store new ones
	used           atomic.Bool
	ticketReceived chan struct{} // closed when the server has sent a ticket
	once           sync.Once
}

// offerSessions returns the configuration of one handshake. The offer is nil if
// sessions are not stored.
func offerSessions(base *tls.Config, full bool) (*tls.Config, *quicOffer) {
	sessions, ok := base.ClientSessionCache.(*keyedSessions)
	if !ok {
		return base, nil
	}
	offer := &quicOffer{keyedSessions: sessions, full: full, ticketReceived: make(chan struct{})}
	config := base.Clone()
	config.ClientSessionCache = offer
	return config, offer
}

func (q *quicOffer) Get(name string) (*tls.ClientSessionState, bool) {
	if q.full {
		return nil, false
	}
	session, ok := q.keyedSessions.Get(name)
	q.used.Store(ok)
	return session, ok
}

func (q *quicOffer) Put(name string, session *tls.ClientSessionState) {
	q.keyedSessions.Put(name, session)
	if session != nil {
		q.once.Do(func() { close(q.ticketReceived) })
	}
}

// awaitTicket waits until the server has replaced the ticket that h used. Without a response on
// h, it does not wait.
func (h *h3Conn) awaitTicket(ctx context.Context) {
	if h.offer == nil || !h.offer.used.Load() || !h.answered.Load() {
		return
	}
	select {
	case <-h.offer.ticketReceived:
		return
	default:
	}
	bound := min(max(minTicketWait, ticketRoundTrips*h.quic.ConnectionStats().SmoothedRTT), maxTicketWait)
	t := time.NewTimer(bound)
	defer t.Stop()
	select {
	case <-h.offer.ticketReceived:
	case <-h.quic.Context().Done():
	case <-ctx.Done():
	case <-t.C:
	}
}

// awaitTickets waits for the tickets of connections to key that are being closed. It does so if
// each request has its own connection, because the next connection uses those tickets.
func (n *quicDialer) awaitTickets(ctx context.Context, key originKey) {
	if !n.cfg.noReuse() {
		return
	}
	n.mu.Lock()
	var leaving []*h3Conn
	for h := range n.conns {
		if h.key == key && h.leaving.Load() {
			leaving = append(leaving, h)
		}
	}
	n.mu.Unlock()
	for _, h := range leaving {
		h.awaitTicket(ctx)
	}
}
