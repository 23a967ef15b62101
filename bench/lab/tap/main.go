// Tap counts the connections and handshakes on the loopback interface of its network
// namespace. For each line of input it prints the current counts as a line of JSON,
// including all exchanges completed before. It exits at the end of its input.
//
// It recognizes servers by their ports, which are below the ephemeral range. It needs
// Linux and permission to capture packets.
package main

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"os"

	"golang.org/x/sys/unix"

	"github.com/rdapq/rdapq/bench/lab/internal/link"
	"github.com/rdapq/rdapq/bench/lab/internal/wire"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("tap: ")
	below := flag.Uint("below", 32768, "a server has a `port` below this one, and a client none")
	flag.Parse()
	if err := run(uint16(*below)); err != nil {
		log.Fatal(err)
	}
}

// A report is one line of the output.
type report struct {
	wire.Counts
	Missed uint32 `json:"missed"` // packets missed because they arrived too fast
}

func run(below uint16) error {
	fd, err := open()
	if err != nil {
		return err
	}
	t := tap{fd: fd, below: below}
	if err := json.NewEncoder(os.Stdout).Encode(report{}); err != nil { // an empty report means ready
		return err
	}
	lines := make(chan struct{})
	go func() {
		defer close(lines)
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			lines <- struct{}{}
		}
	}()
	for {
		select {
		case _, ok := <-lines:
			if !ok {
				return nil
			}
			if err := t.drain(); err != nil {
				return err
			}
			if err := t.report(); err != nil {
				return err
			}
		default:
			if err := t.wait(); err != nil {
				return err
			}
		}
	}
}

// open returns a socket that receives a copy of all packets on loopback.
func open() (int, error) {
	lo, err := net.InterfaceByName("lo")
	if err != nil {
		return 0, err
	}
	all := binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, unix.ETH_P_ALL))
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, fmt.Errorf("cannot capture packets: %w", err)
	}
	// Request the largest possible buffer; Missed shows whether it was too small.
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 64<<20)
	return fd, unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: all, Ifindex: lo.Index})
}

type tap struct {
	fd      int
	below   uint16
	counter wire.Counter
	missed  uint32
	packet  [1 << 16]byte
}

// wait takes packets for a short time.
func (t *tap) wait() error {
	const while = 5 // timeout in ms
	if _, err := unix.Poll([]unix.PollFd{{Fd: int32(t.fd), Events: unix.POLLIN}}, while); err != nil && !errors.Is(err, unix.EINTR) {
		return err
	}
	return t.drain()
}

// drain takes all pending packets.
func (t *tap) drain() error {
	for {
		n, from, err := unix.Recvfrom(t.fd, t.packet[:], 0)
		switch {
		case errors.Is(err, unix.EAGAIN):
			return nil
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return err
		}
		// Every packet on loopback arrives twice, outgoing and incoming.
		if a, ok := from.(*unix.SockaddrLinklayer); ok && a.Pkttype != unix.PACKET_OUTGOING {
			t.take(t.packet[:n])
		}
	}
}

// take counts a packet between a server and a client.
func (t *tap) take(p []byte) {
	header := 40
	if len(p) > 0 && p[0]>>4 == 4 {
		header = int(p[0]&15) * 4
	}
	if len(p) < header+4 {
		return
	}
	from, to := binary.BigEndian.Uint16(p[header:]), binary.BigEndian.Uint16(p[header+2:])
	switch {
	case from >= t.below && to < t.below:
		t.counter.Packet(link.Up, p)
	case from < t.below && to >= t.below:
		t.counter.Packet(link.Down, p)
	}
}

func (t *tap) report() error {
	stats, err := unix.GetsockoptTpacketStats(t.fd, unix.SOL_PACKET, unix.PACKET_STATISTICS)
	if err != nil {
		return err
	}
	t.missed += stats.Drops
	return json.NewEncoder(os.Stdout).Encode(report{t.counter.Counts(), t.missed})
}
