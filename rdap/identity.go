package rdap

import (
	"net/netip"

	"github.com/go-json-experiment/json/jsontext"
)

// An Extent is the range of a network or a block of AS numbers (RFC 9083 sections 5.4
// and 5.5). A bound that is absent or ambiguous has the zero value.
type Extent struct {
	First, Last             netip.Addr // see [Record.AddressRange]
	FirstAutnum, LastAutnum *uint32
}

// Extent reads the range of the response without decoding the rest.
func (r *Response) Extent() Extent {
	var out Extent
	var start, end string
	walk := newReader(r.object, "")
	if !walk.enterObject() {
		return out
	}
	for walk.next() {
		switch walk.member() {
		case "startAddress":
			walk.str(&start)
		case "endAddress":
			walk.str(&end)
		case "startAutnum":
			walk.number(&out.FirstAutnum)
		case "endAutnum":
			walk.number(&out.LastAutnum)
		default:
			walk.skip()
		}
	}
	if first, last, ok := addressRange(start, end); ok {
		out.First, out.Last = first, last
	}
	return out
}

// HasLDHName reports whether the ldhName of the response is name, which must be in
// lower case without final dot. It may return false for an ldhName with escapes.
func (r *Response) HasLDHName(name string) bool { return r.scan.hasLDHName(name) }

// Names returns the ldhName and the unicodeName of the response as sent, without
// decoding the rest.
func (r *Response) Names() (ldh, unicode string) {
	_ = eachMember(r.object, func(name string, value jsontext.Value) bool {
		switch memberName(name) {
		case "ldhName":
			ldh = firstString(value)
		case "unicodeName":
			unicode = firstString(value)
		}
		return true
	})
	return ldh, unicode
}

// Handle returns the handle of the response as sent, without decoding the rest.
func (r *Response) Handle() (handle string) {
	_ = eachMember(r.object, func(name string, value jsontext.Value) bool {
		if memberName(name) != "handle" {
			return true
		}
		handle = firstString(value)
		return false
	})
	return handle
}

// HasVariant reports whether match returns true for a string within the variants of
// a domain: their names, relations and IDN tables (RFC 9083 section 5.3).
func (r *Response) HasVariant(match func(string) bool) (found bool) {
	_ = eachMember(r.object, func(member string, value jsontext.Value) bool {
		if memberName(member) != "variants" {
			return true
		}
		for dec := newDecoder(value); !found; {
			token, err := dec.ReadToken()
			if err != nil {
				return false
			}
			if token.Kind() == '"' {
				found = match(token.String())
			}
		}
		return false
	})
	return found
}
