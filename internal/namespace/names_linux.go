package namespace

import (
	"bufio"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// Answer serves DNS in the namespace. lookup returns the addresses of a name, which is in lower
// case without final dot; an empty result means that the name does not exist. Answer calls
// lookup for each question, possibly concurrently.
func Answer(t *testing.T, lookup func(name string) []netip.Addr) {
	t.Helper()
	server := nameserver(t)
	if !netip.MustParseAddr(server).IsLoopback() {
		Own(t, server)
	}
	pc, err := net.ListenPacket("udp", net.JoinHostPort(server, "53"))
	if err != nil {
		t.Skip("cannot run a name server here:", err)
	}
	t.Cleanup(func() { pc.Close() })
	go func() {
		buf := make([]byte, 1500)
		for {
			n, from, err := pc.ReadFrom(buf)
			if err != nil {
				return
			}
			if reply := answer(buf[:n], lookup); reply != nil {
				_, _ = pc.WriteTo(reply, from) // no check: the resolver retries
			}
		}
	}()
}

// nameserver returns the name server that the system uses.
func nameserver(t *testing.T) string {
	t.Helper()
	f, err := os.Open("/etc/resolv.conf")
	if err != nil {
		t.Skip("cannot read the resolver configuration:", err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if words := strings.Fields(lines.Text()); len(words) > 1 && words[0] == "nameserver" {
			if a, err := netip.ParseAddr(words[1]); err == nil && a.Zone() == "" {
				return a.String()
			}
		}
	}
	return "127.0.0.1" // default of resolv.conf(5)
}

func answer(question []byte, lookup func(string) []netip.Addr) []byte {
	var m dnsmessage.Message
	if m.Unpack(question) != nil || len(m.Questions) != 1 {
		return nil
	}
	q := m.Questions[0]
	m.Header = dnsmessage.Header{ID: m.ID, Response: true, RecursionAvailable: true, RecursionDesired: m.RecursionDesired}
	m.Additionals = nil
	addrs := lookup(strings.ToLower(strings.TrimSuffix(q.Name.String(), ".")))
	if len(addrs) == 0 {
		m.RCode = dnsmessage.RCodeNameError
	}
	h := dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class}
	for _, a := range addrs {
		switch {
		case a.Is4() && q.Type == dnsmessage.TypeA:
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.AResource{A: a.As4()}})
		case !a.Is4() && q.Type == dnsmessage.TypeAAAA:
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.AAAAResource{AAAA: a.As16()}})
		}
	}
	reply, err := m.Pack()
	if err != nil {
		return nil
	}
	return reply
}
