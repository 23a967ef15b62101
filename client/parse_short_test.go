package client

import (
	"strings"
	"testing"
)

func TestShortPrefixes(t *testing.T) {
	for _, tt := range []struct{ text, path, note string }{
		{"10/8", "ip/10.0.0.0/8", "10/8 is short for 10.0.0.0/8"},
		{"192.0.2/24", "ip/192.0.2.0/24", "192.0.2/24 is short for 192.0.2.0/24"},
		{"172.16/12", "ip/172.16.0.0/12", "172.16/12 is short for 172.16.0.0/12"},
		{"10.1/8", "ip/10.1.0.0/8", "10.1/8 is short for 10.1.0.0/8"}, // the server handles the host bits
		{"0/0", "ip/0.0.0.0/0", "0/0 is short for 0.0.0.0/0"},
		{"192.0.2.0/24", "ip/192.0.2.0/24", ""},
		{"192.0.2.7/24", "ip/192.0.2.7/24", ""},
	} {
		q, err := Parse(tt.text)
		if err != nil || q.Path() != tt.path || q.note != tt.note {
			t.Errorf("Parse(%q) = %q, note %q, %v; want %q, %q", tt.text, q.Path(), q.note, err, tt.path, tt.note)
		}
	}
	for _, text := range []string{"2001:db8/32", "10/24"} {
		_, err := Parse(text)
		if err == nil || asError(err).Hint == "" {
			t.Errorf("Parse(%q): %v, without a hint", text, err)
		}
	}
}

func TestAutnums(t *testing.T) {
	for text, path := range map[string]string{
		"AS0": "autnum/0", "ASN64496": "autnum/64496", "asn 64496": "autnum/64496", "as1.0": "autnum/65536", "AS65535.65535": "autnum/4294967295", "64496": "autnum/64496",
		"AS": "domain/as", // .as is a top-level domain
	} {
		if q, err := Parse(text); err != nil || q.Path() != path {
			t.Errorf("Parse(%q) = %q, %v; want %q", text, q.Path(), err, path)
		}
	}
	if q, err := ParseAs(TypeAutnum, "1.10"); err != nil || q.Autnum != 65546 {
		t.Errorf("asdot without AS: %+v, %v", q, err)
	}
}

// Names that IDNA does not allow are looked up, and the result has a note.
func TestOddNames(t *testing.T) {
	for _, tt := range []struct{ text, name, note string }{
		{"bücher.example", "xn--bcher-kva.example", ""},
		{"BÜCHER。EXAMPLE。", "xn--bcher-kva.example", ""},
		{"_sip._tcp.bücher.example.", "_sip._tcp.xn--bcher-kva.example", ""},
		// U-labels are converted even next to A-labels
		{"xn--bcher-kva.例え.example", "xn--bcher-kva.xn--r8jz45g.example", ""},
		{"BüCHER.XN--BCHER-KVA.example", "xn--bcher-kva.xn--bcher-kva.example", ""},
		// IDNA does not allow the encoded label, which is sent unchanged
		{"xn--a.example", "xn--a.example", ""},
		{"☕.example", "xn--53h.example", ""},                 // an emoji that UTS 46 permits
		{"क्\u200dष.example", "xn--11b2ezcw70k.example", ""}, // IDNA allows ZWJ after a virama
		{"a\u200db.example", "xn--ab-m1t.example", "IDNA does not allow the label"},
		{"👩\u200d💻.example", "xn--1ug1855pcha.example", "IDNA does not allow the label"},
		{"ab--ü.example", "xn--ab---3ra.example", "IDNA does not allow the label"},
		{"אבג.example", "xn--4dbcd.example", ""},
		{"אa.example", "xn--a-zhc.example", "mixes directions"},
		{"1א.example", "xn--1-0hc.example", "mixes directions"},
	} {
		q, err := Parse(tt.text)
		if err != nil {
			t.Errorf("Parse(%q): %v", tt.text, err)
			continue
		}
		if q.Name != tt.name || (tt.note == "") != (q.note == "") || !strings.Contains(q.note, tt.note) {
			t.Errorf("Parse(%q) = %q, note %q; want %q, %q", tt.text, q.Name, q.note, tt.name, tt.note)
		}
	}
}
