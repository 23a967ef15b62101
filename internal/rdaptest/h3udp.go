package rdaptest

import (
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// A udpFilter is a UDP socket that may drop all packets and delays outgoing ones by a
// round trip.
type udpFilter struct {
	net.PacketConn
	tally   *tally
	rtt     time.Duration
	blocked atomic.Bool
	heard   atomic.Int64
	early   *earlyWatch // counts early data; nil without AwaitEarly
	late    chan latePacket
	done    chan struct{}
	once    sync.Once
	work    sync.WaitGroup
}

type latePacket struct {
	due  time.Time
	data []byte
	to   net.Addr
}

func newUDPFilter(c net.PacketConn, t *tally, rtt time.Duration) *udpFilter {
	f := &udpFilter{PacketConn: c, tally: t, rtt: rtt, done: make(chan struct{})}
	if rtt > 0 {
		f.late = make(chan latePacket, 1<<14)
		f.work.Go(f.send)
	}
	return f
}

// SetReadBuffer and SetWriteBuffer exist for quic-go.
func (f *udpFilter) SetReadBuffer(n int) error { return f.PacketConn.(*net.UDPConn).SetReadBuffer(n) }

func (f *udpFilter) SetWriteBuffer(n int) error { return f.PacketConn.(*net.UDPConn).SetWriteBuffer(n) }

func (f *udpFilter) ReadFrom(p []byte) (int, net.Addr, error) {
	for {
		n, from, err := f.PacketConn.ReadFrom(p)
		if err != nil {
			return n, from, err
		}
		f.heard.Add(1)
		if !f.blocked.Load() {
			f.tally.bytesIn.Add(int64(n))
			if f.early != nil {
				f.early.saw(from, p[:n])
			}
			return n, from, nil
		}
	}
}

func (f *udpFilter) WriteTo(p []byte, to net.Addr) (int, error) {
	if f.blocked.Load() {
		return len(p), nil
	}
	f.tally.bytesOut.Add(int64(len(p)))
	if f.late == nil {
		return f.PacketConn.WriteTo(p, to)
	}
	select {
	case f.late <- latePacket{time.Now().Add(f.rtt), append([]byte(nil), p...), to}:
	default: // drop the packet if the queue is full, as any link does
	}
	return len(p), nil
}

func (f *udpFilter) send() {
	for {
		select {
		case l := <-f.late:
			select {
			case <-time.After(time.Until(l.due)):
				f.PacketConn.WriteTo(l.data, l.to)
			case <-f.done:
				return
			}
		case <-f.done:
			return
		}
	}
}

func (f *udpFilter) Close() error {
	f.once.Do(func() { close(f.done) })
	f.work.Wait()
	return f.PacketConn.Close()
}
