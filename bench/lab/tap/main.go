// Tap counts the connections and handshakes that pass over the loopback
// interface of the network namespace it is started in: for each line that it
// reads it prints what it has seen so far, as a line of JSON. Whatever has been
// answered when the line is written is counted. It ends with its input.
//
// Servers are known by their ports, which are below those that the system
// gives to clients. It needs Linux and the permission to see packets.
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

// A report is what is printed.
type report struct {
	wire.Counts
	Missed uint32 `json:"missed"` // packets that came too fast
}

func run(below uint16) error {
	fd, err := open()
	if err != nil {
		return err
	}
	t := tap{fd: fd, below: below}
	if err := json.NewEncoder(os.Stdout).Encode(report{}); err != nil { // it is ready
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

// open returns a socket that gets a copy of what passes over loopback.
func open() (int, error) {
	lo, err := net.InterfaceByName("lo")
	if err != nil {
		return 0, err
	}
	all := binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, unix.ETH_P_ALL))
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, fmt.Errorf("packets can't be seen: %w", err)
	}
	// As much room as there is to be had; Missed tells if it was too little.
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

// wait takes what comes in a little while.
func (t *tap) wait() error {
	const while = 5 // ms
	if _, err := unix.Poll([]unix.PollFd{{Fd: int32(t.fd), Events: unix.POLLIN}}, while); err != nil && !errors.Is(err, unix.EINTR) {
		return err
	}
	return t.drain()
}

// drain takes what is there.
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
		// Everything on loopback is seen as it leaves, and as it comes.
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
