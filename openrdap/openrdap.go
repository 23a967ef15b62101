// Package openrdap decodes RDAP responses into the types of github.com/openrdap/rdap, for
// programs that are built on those.
//
// It is a separate package because package github.com/openrdap/rdap adds 4 MB to a program.
package openrdap

import (
	"bytes"

	openrdap "github.com/openrdap/rdap"

	"github.com/rdapq/rdapq/rdap"
)

// Object decodes a response into *rdap.Domain, *rdap.IPNetwork and so on. That model is
// convenient but lossy: it drops unknown members, reads null and absent numbers as 0, and may
// refuse responses without objectClassName. Do not store the model instead of the server's own
// bytes. If raw is not a JSON object, nests more than 100 levels deep, or the model refuses it,
// Object returns a [*rdap.FormatError] of package rdap.
func Object(raw []byte) (openrdap.RDAPObject, error) {
	if _, err := rdap.Parse(raw); err != nil { // the decoder would accept null
		return nil, err
	}
	obj, err := openrdap.NewDecoder(bytes.TrimSpace(bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf")))).Decode()
	if err != nil {
		return nil, &rdap.FormatError{Reason: err.Error(), Err: err}
	}
	return obj, nil
}
