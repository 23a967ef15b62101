package client

import (
	"errors"
	"reflect"
	"testing"

	"github.com/rdapq/rdapq/internal/spill"
)

// TestSpilledInput checks that inputs return unchanged from the temporary file.
func TestSpilledInput(t *testing.T) {
	for _, in := range []Input{
		{},
		{Line: 1 << 40, Text: "alpha.example"},
		{Line: 2, Text: "alpha.example", Extra: []byte{}},
		{Line: 3, Text: "ALPHA\n", Type: TypeDomain, Server: "https://rdap.example/", Extra: []byte("extra\n\x00")},
	} {
		b := appendInput(nil, in)
		if got, err := decodeInput(b); err != nil || !reflect.DeepEqual(got, in) {
			t.Errorf("%+v, %v; want %+v", got, err, in)
		}
		for n := range len(b) - len(in.Extra) {
			if got, err := decodeInput(b[:n]); !errors.Is(err, spill.ErrUnreadable) {
				t.Errorf("%q: %+v, %v", b[:n], got, err)
			}
		}
	}
}
