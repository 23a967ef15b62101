// Package link implements a network link in user space. The link carries packets between two
// TUN devices with a fixed one-way delay and optional random loss, and preserves their order.
//
// One operating-system thread serves both directions. It sleeps in ppoll with a nanosecond
// timeout. It reads packets in batches straight into a ring buffer, and writes them from there
// after their delay. No packet is copied or allocated on the way.
package link

import (
	"errors"
	"math/rand/v2"
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	vnetHdrLen = 10 // size of struct virtio_net_hdr
	maxPacket  = vnetHdrLen + 65535
	batch      = 64 // number of packets read from one device before the other is served

	defaultRing = 64 << 20
)

// A Config describes one link. Every value applies to each direction.
type Config struct {
	Delay time.Duration // one-way delay
	Loss  float64       // probability that a packet is lost, 0 to 1
	Ring  int           // maximum bytes in flight, above which packets are dropped; 0 means 64 MiB
	Seed  uint64        // seed of the loss generator
	Trace Tracer        // if not nil, called with every packet that is not lost
}

// A Tracer is called with packets as they enter the link, by the link's thread. It must not
// retain pkt.
type Tracer interface {
	Packet(dir Dir, pkt []byte)
}

// A Dir is a direction of travel.
type Dir int

const (
	Up   Dir = iota // client to server
	Down            // server to client
)

// Stats holds the counts of one direction.
type Stats struct {
	Packets  uint64        // packets carried, or in flight
	Bytes    uint64        // bytes of the packets carried, or in flight
	Lost     uint64        // packets lost by Config.Loss
	Overflow uint64        // packets lost because the ring was full
	Late     time.Duration // maximum delay of a packet beyond Config.Delay
}

type entry struct {
	off, n int
	due    int64
}

type direction struct {
	in, out int
	buf     []byte
	head    int // offset in ring for the next packet
	q       []entry
	qh, qn  int // first entry and number of entries in q
	stats   Stats
}

// A Link carries packets between two devices.
type Link struct {
	cfg  Config
	dirs [2]*direction
	rng  *rand.Rand
	stop [2]int // pipe that Close writes to
	done chan struct{}

	scratch [maxPacket]byte // buffer for packets that are dropped unread
}

// New starts a link between the client's and the server's TUN descriptor.
func New(client, server int, cfg Config) (*Link, error) {
	if cfg.Ring == 0 {
		cfg.Ring = defaultRing
	}
	l := &Link{cfg: cfg, rng: rand.New(rand.NewPCG(cfg.Seed, 1)), done: make(chan struct{})}
	for i, fds := range [2][2]int{{client, server}, {server, client}} {
		l.dirs[i] = &direction{in: fds[0], out: fds[1], buf: make([]byte, cfg.Ring), q: make([]entry, 1024)}
	}
	if err := unix.Pipe2(l.stop[:], unix.O_NONBLOCK|unix.O_CLOEXEC); err != nil {
		return nil, err
	}
	go l.run()
	return l, nil
}

// Close stops the link and returns the counts for Up and Down.
func (l *Link) Close() [2]Stats {
	// An empty pipe accepts a byte, so that the write does not block.
	_, _ = unix.Write(l.stop[1], []byte{0})
	<-l.done
	unix.Close(l.stop[0])
	unix.Close(l.stop[1])
	return [2]Stats{l.dirs[Up].stats, l.dirs[Down].stats}
}

func (l *Link) run() {
	defer close(l.done)
	runtime.LockOSThread() // never unlocked, because the thread's priority must end with the thread
	// The timer slack of 50 µs and other load would delay packets. Without permission for the
	// calls, packets are slightly late.
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	prio := int32(10)
	_, _, _ = unix.RawSyscall(unix.SYS_SCHED_SETSCHEDULER, 0, unix.SCHED_FIFO, uintptr(unsafe.Pointer(&prio)))

	fds := []unix.PollFd{
		{Fd: int32(l.dirs[Up].in), Events: unix.POLLIN},
		{Fd: int32(l.dirs[Down].in), Events: unix.POLLIN},
		{Fd: int32(l.stop[0]), Events: unix.POLLIN},
	}
	for {
		next := int64(-1)
		for _, d := range l.dirs {
			d.deliver(now())
			if d.qn > 0 && (next < 0 || d.q[d.qh].due < next) {
				next = d.q[d.qh].due
			}
		}
		var timeout *unix.Timespec
		if next >= 0 {
			ts := unix.NsecToTimespec(max(next-now(), 0))
			timeout = &ts
		}
		n, err := unix.Ppoll(fds, timeout, nil)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return
		}
		if n <= 0 {
			continue
		}
		if fds[2].Revents != 0 {
			return
		}
		for i, d := range l.dirs {
			if fds[i].Revents&unix.POLLIN != 0 {
				l.accept(Dir(i), d)
			}
		}
	}
}

// accept reads a batch of packets and schedules each of them.
func (l *Link) accept(dir Dir, d *direction) {
	for range batch {
		room := d.reserve()
		if room == nil { // drop the packet at the tail
			if _, err := unix.Read(d.in, l.scratch[:]); err != nil {
				return
			}
			d.stats.Overflow++
			continue
		}
		n, err := unix.Read(d.in, room)
		if err != nil || n <= vnetHdrLen {
			return
		}
		arrived := now()
		if l.cfg.Loss > 0 && l.rng.Float64() < l.cfg.Loss {
			d.stats.Lost++
			continue
		}
		if l.cfg.Trace != nil {
			l.cfg.Trace.Packet(dir, room[vnetHdrLen:n])
		}
		d.push(n, arrived+int64(l.cfg.Delay))
		d.stats.Packets++
		d.stats.Bytes += uint64(n - vnetHdrLen)
	}
}

// reserve returns room for one packet at the head of the ring, or nil.
func (d *direction) reserve() []byte {
	if d.qn == 0 {
		d.head = 0
		return d.buf[:maxPacket]
	}
	first := d.q[d.qh].off
	if d.head > first {
		if len(d.buf)-d.head >= maxPacket {
			return d.buf[d.head : d.head+maxPacket]
		}
		if first > maxPacket {
			d.head = 0
			return d.buf[:maxPacket]
		}
		return nil
	}
	if first-d.head > maxPacket {
		return d.buf[d.head : d.head+maxPacket]
	}
	return nil
}

// push queues the packet of n bytes that was read into the reserved room.
func (d *direction) push(n int, due int64) {
	if d.qn == len(d.q) {
		bigger := make([]entry, 2*len(d.q))
		for i := range d.qn {
			bigger[i] = d.q[(d.qh+i)%len(d.q)]
		}
		d.q, d.qh = bigger, 0
	}
	d.q[(d.qh+d.qn)%len(d.q)] = entry{off: d.head, n: n, due: due}
	d.qn++
	d.head += n
}

// deliver writes the packets whose delay has passed. A packet that the device does not accept
// is lost, as it would be in a full queue.
func (d *direction) deliver(t int64) {
	for d.qn > 0 {
		e := &d.q[d.qh]
		if e.due > t {
			return
		}
		_, _ = unix.Write(d.out, d.buf[e.off:e.off+e.n])
		d.stats.Late = max(d.stats.Late, time.Duration(t-e.due))
		d.qh = (d.qh + 1) % len(d.q)
		d.qn--
	}
}

func now() int64 {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) // this clock always exists
	return ts.Nano()
}
