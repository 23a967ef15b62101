package publicaddr_test

import (
	"net/netip"
	"testing"

	"github.com/rdapq/rdapq/internal/publicaddr"
)

func TestIs(t *testing.T) {
	for _, inside := range []string{
		"127.0.0.1", "127.255.255.255", // loopback addresses
		"10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.0.1", // addresses of RFC 1918
		"169.254.0.1", "169.254.169.254", // link-local addresses, including the metadata service of clouds
		// addresses shared by carriers, including a metadata service
		"100.64.0.1", "100.127.255.255", "100.100.100.200",
		"0.0.0.0", "0.255.255.255", "192.0.0.192", "198.19.255.255",
		"192.0.2.1", "198.51.100.1", "203.0.113.1",
		"224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
		"::", "::1", "::2", "::127.0.0.1",
		"::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::ffff:0.0.0.0",
		"64:ff9b::127.0.0.1", "64:ff9b::10.0.0.1", "64:ff9b::169.254.169.254", "64:ff9b:1::1",
		"2002:7f00:1::1", "2002:a9fe:a9fe::1", "2002:c0a8:1::1",
		"2001::1", "2001:db8::1", "3fff::1", "5f00::1", "100::1",
		"fc00::1", "fd00:ec2::254", "fdff::1", // unique local addresses, including a metadata service
		"fe80::1", "fe80::1%lo", "febf::1", "fec0::1",
		"ff02::1", "ff0e::1",
	} {
		if publicaddr.Is(netip.MustParseAddr(inside)) {
			t.Errorf("%s passes for public", inside)
		}
	}
	for _, outside := range []string{
		"8.8.8.8", "9.255.255.255", "11.0.0.0", "172.15.0.1", "172.32.0.1", "100.63.255.255", "100.128.0.0", "192.0.1.1",
		"2001:4860:4860::8888", "2a00::1", "2620:fe::fe", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2002:808:808::1",
	} {
		if !publicaddr.Is(netip.MustParseAddr(outside)) {
			t.Errorf("%s does not pass for public", outside)
		}
	}
	if publicaddr.Is(netip.Addr{}) {
		t.Error("no address passes for a public one")
	}
}

func TestOfHost(t *testing.T) {
	for host, want := range map[string]bool{"rdap.example": true, "8.8.8.8": true, "127.0.0.1": false, "::1": false, "": true} {
		if _, got := publicaddr.OfHost(host); got != want {
			t.Errorf("%q: %v", host, got)
		}
	}
}
