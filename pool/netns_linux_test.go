package pool_test

import (
	"fmt"
	"net"
	"os"
	"testing"

	"github.com/rdapq/rdapq/internal/namespace"
)

// Addresses in a namespace of inNamespace: the client's address, and an address that digHole
// turns into a black hole.
const (
	nearAddr = "10.9.9.1"
	holeAddr = "10.9.9.9"
)

// inNamespace is like namespace.Enter, but adds these addresses.
func inNamespace(t *testing.T) bool {
	t.Helper()
	if !namespace.Enter(t) {
		return false
	}
	namespace.Own(t, nearAddr, holeAddr)
	return true
}

// digHole makes holeAddr silent.
func digHole(t *testing.T) {
	t.Helper()
	// No address at the other end of the link receives the packets.
	namespace.IP(t, "link add hole0 type veth peer name hole1")
	namespace.IP(t, "link set hole0 up")
	namespace.IP(t, "link set hole1 up")
	namespace.IP(t, "neigh add "+holeAddr+" lladdr 02:00:00:00:00:99 dev hole0")
	namespace.IP(t, "route add "+holeAddr+"/32 dev hole0")
	namespace.IP(t, "addr del "+holeAddr+"/32 dev lo")
	if nc, err := net.Dial("udp", holeAddr+":9"); err != nil {
		t.Fatal("it is a wall, not a hole:", err)
	} else {
		nc.Close()
	}
}

// setFastOpen sets net.ipv4.tcp_fastopen of the namespace.
func setFastOpen(t *testing.T, v int) {
	t.Helper()
	if err := os.WriteFile("/proc/sys/net/ipv4/tcp_fastopen", fmt.Append(nil, v), 0o644); err != nil {
		t.Skip("TCP Fast Open can't be configured:", err)
	}
}
