package bootstrap

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// shared returns a file of the case collection at RDAPQ_SHARED.
func shared(t *testing.T, name string) []byte {
	t.Helper()
	dir := os.Getenv("RDAPQ_SHARED")
	if dir == "" {
		t.Skip("RDAPQ_SHARED is not set: the case collection is not part of the project")
	}
	data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestSharedCases(t *testing.T) {
	r := newResolver(t, Config{IANAOnly: true, Files: map[Registry][]byte{
		RegistryDNS:  shared(t, "cases/bs03.json"),
		RegistryASN:  shared(t, "cases/bs05.json"),
		RegistryIPv4: shared(t, "cases/bs06.ipv4.json"),
		RegistryIPv6: shared(t, "cases/bs06.ipv6.json"),
	}})
	wantResolve(t, r, domain("a.zz"), "iana zz https://zz.invalid/rdap/")
	wantResolve(t, r, domain("xco.zz"), "iana zz https://zz.invalid/rdap/")
	wantResolve(t, r, domain("a.co.zz"), "iana co.zz https://cozz.invalid/rdap/")
	wantResolve(t, r, domain("CO.ZZ"), "iana co.zz https://cozz.invalid/rdap/")
	wantResolve(t, r, domain("a.com.qq"), "iana qq https://qq.invalid/")
	wantResolve(t, r, autnum(64499), "iana 64496-64499 https://a.invalid/")
	wantResolve(t, r, autnum(64500), "iana 64500 https://b.invalid/")
	wantResolve(t, r, autnum(64511), "iana 64501-64511 https://c.invalid/")
	wantResolve(t, r, domain("2.0.192.in-addr.arpa"), "iana 192.0.2.0/24 https://rir4.invalid/rdap/")
	wantResolve(t, r, domain("8.b.d.0.1.0.0.2.ip6.arpa"), "iana 2001:db8::/32 https://rir6.invalid/rdap/")
	if _, err := r.Resolve(t.Context(), autnum(64495)); !errors.Is(err, ErrNoService) {
		t.Errorf("AS64495: %v", err)
	}
	r = newResolver(t, Config{Files: map[Registry][]byte{RegistryDNS: shared(t, "cases/bs01.json")}})
	if _, err := r.Resolve(t.Context(), domain("alpha.zz")); !errors.Is(err, ErrNoService) {
		t.Errorf("alpha.zz: %v", err)
	}
}

// The snapshot has the content that IANA's files had when it was made.
func TestSharedRegistries(t *testing.T) {
	for i := range registries {
		reg := Registry(i)
		file, err := reg.parse(shared(t, "iana/"+reg.file()), true)
		if err != nil {
			t.Fatal(err)
		}
		snap, err := snapshot(reg, true)
		if err != nil {
			t.Fatal(err)
		}
		if snap.published.Before(file.published) || snap.table.entries < file.table.entries {
			t.Errorf("%v: the snapshot is of %v with %d entries, the file of %v with %d", reg,
				snap.published, snap.table.entries, file.published, file.table.entries)
		}
		if err := checkShrunk(snap.table, file.table); err != nil {
			t.Errorf("%v: %v", reg, err)
		}
	}
}
