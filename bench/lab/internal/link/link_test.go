package link

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// pair returns two connected descriptors that preserve packet boundaries, as TUN
// devices do.
func pair(t *testing.T) (device, test int) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fds[0]); unix.Close(fds[1]) })
	for _, fd := range fds {
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, 8<<20); err != nil {
			t.Skipf("socket buffers can't be enlarged: %v", err) // larger buffers need root
		}
	}
	return fds[0], fds[1]
}

func receive(t *testing.T, fd int, buf []byte) []byte {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
		n, err := unix.Read(fd, buf)
		if err == nil {
			return buf[:n]
		}
		time.Sleep(20 * time.Microsecond)
	}
	t.Fatal("no packet arrived")
	return nil
}

// awaitTaken waits until the link has read all data written to a device.
func awaitTaken(t *testing.T, device int) {
	t.Helper()
	fds := []unix.PollFd{{Fd: int32(device), Events: unix.POLLIN}}
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		n, err := unix.Poll(fds, 0)
		if err == nil && n == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("packets are left: %v", err)
		}
	}
}

func TestDelayBothWays(t *testing.T) {
	cd, client := pair(t)
	sd, server := pair(t)
	const delay = 30 * time.Millisecond
	l, err := New(cd, sd, Config{Delay: delay})
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, maxPacket)
	for _, way := range [][2]int{{client, server}, {server, client}} {
		start := time.Now()
		if _, err := unix.Write(way[0], make([]byte, 100)); err != nil {
			t.Fatal(err)
		}
		if got := receive(t, way[1], buf); len(got) != 100 {
			t.Fatalf("%d bytes arrived", len(got))
		}
		if d := time.Since(start); d < delay {
			t.Errorf("delay %v, want at least %v", d, delay)
		}
	}
	stats := l.Close()
	if stats[Up].Packets != 1 || stats[Down].Bytes != 100-vnetHdrLen {
		t.Errorf("stats %+v", stats)
	}
}

// TestOrder pushes packets of mixed sizes through a ring that wraps often.
func TestOrder(t *testing.T) {
	cd, client := pair(t)
	sd, server := pair(t)
	l, err := New(cd, sd, Config{Delay: time.Millisecond, Ring: 4 * maxPacket})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	rng := rand.New(rand.NewPCG(1, 2))
	out, in := make([]byte, maxPacket), make([]byte, maxPacket)
	for seq := uint64(0); seq < 3000; {
		var sizes []int
		for range 1 + rng.IntN(6) {
			n := vnetHdrLen + 8 + rng.IntN(2000)
			if rng.IntN(10) == 0 {
				n = vnetHdrLen + 8 + rng.IntN(30000)
			}
			binary.BigEndian.PutUint64(out[vnetHdrLen:], seq+uint64(len(sizes)))
			if _, err := unix.Write(client, out[:n]); err != nil {
				break
			}
			sizes = append(sizes, n)
		}
		for _, n := range sizes {
			got := receive(t, server, in)
			if len(got) != n || binary.BigEndian.Uint64(got[vnetHdrLen:]) != seq {
				t.Fatalf("packet %d: %d bytes, number %d", seq, len(got), binary.BigEndian.Uint64(got[vnetHdrLen:]))
			}
			seq++
		}
	}
}

func TestLoss(t *testing.T) {
	cd, client := pair(t)
	sd, _ := pair(t)
	l, err := New(cd, sd, Config{Loss: 0.25, Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	const n = 4000
	for range n {
		if _, err := unix.Write(client, make([]byte, 60)); err != nil {
			t.Fatal(err)
		}
	}
	awaitTaken(t, cd)
	s := l.Close()[Up]
	if total := s.Packets + s.Lost; total != n || s.Lost < n/5 || s.Lost > n*3/10 {
		t.Errorf("%d of %d packets lost", s.Lost, total)
	}
}
