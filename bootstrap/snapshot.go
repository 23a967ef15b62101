package bootstrap

import (
	_ "embed"
	"time"

	"github.com/rdapq/rdapq/bootstrap/internal/ianafile"
)

//go:generate go run ./internal/gensnapshot -from https://data.iana.org/rdap/ -add internal/gensnapshot/additions.json -o snapshot.json

// snapshotFile holds the five registries of the day in its "generated"
// member, rendered anew by gensnapshot.
//
//go:embed snapshot.json
var snapshotFile []byte

// snapshotTaken returns the publication date of the newest registry in the snapshot, which is
// the earliest possible day of the snapshot.
func snapshotTaken() time.Time {
	var taken time.Time
	for i := range registries {
		reg := Registry(i)
		if f, err := ianafile.ReadMember(snapshotFile, reg.String(), reg == RegistryObjectTags); err == nil && f.Published.After(taken) {
			taken = f.Published
		}
	}
	return taken
}

// snapshot returns one registry of the snapshot.
func snapshot(reg Registry, allowHTTP bool) (*edition, error) {
	f, err := ianafile.ReadMember(snapshotFile, reg.String(), reg == RegistryObjectTags)
	if err != nil {
		return nil, err
	}
	ed, err := reg.edition(f, allowHTTP)
	if err != nil {
		return nil, err
	}
	ed.source = SourceSnapshot
	return ed, nil
}
