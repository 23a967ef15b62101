// Package ianafile reads the registry files of RFC 9224 section 3 and RFC 8521 section 3.
// [Parse] reads IANA's files, cached copies, the snapshot and files supplied by a caller.
package ianafile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// A Service is one entry of a file. It has the keys that it covers and the base URLs of their
// servers, as written.
type Service struct {
	Keys []string
	URLs []string
}

// A File is the part of a registry file that is needed to find servers.
type File struct {
	Published time.Time // publication date; zero if missing or not in RFC 3339 format
	Services  []Service // never empty
}

// ErrMalformed is wrapped by all errors of [Parse].
var ErrMalformed = errors.New("not a registry file")

// Parse reads a registry file. It skips a byte-order mark and ignores unknown members and
// values, as RFC 9224 section 3 requires. With tagged, services have three arrays, of which the
// first has contacts (RFC 8521 section 3); otherwise they have two. A file without a usable
// service is an error.
func Parse(data []byte, tagged bool) (*File, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, fmt.Errorf("%w: empty file", ErrMalformed)
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(data), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	f, err := read(dec, tagged)
	if err != nil {
		return nil, err
	}
	if _, err := dec.ReadToken(); err != io.EOF {
		return nil, fmt.Errorf("%w: data after the object", ErrMalformed)
	}
	if len(f.Services) == 0 {
		return nil, fmt.Errorf("%w: no services", ErrMalformed)
	}
	return f, nil
}

// ReadMember reads one registry from a document whose "registries" member holds several
// registries by name. It skips the other registries.
func ReadMember(data []byte, name string, tagged bool) (*File, error) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(data), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	for _, want := range []string{"registries", name} {
		if err := enter(dec, want); err != nil {
			return nil, err
		}
	}
	f, err := read(dec, tagged)
	if err == nil && len(f.Services) == 0 {
		err = fmt.Errorf("%w: %s has no services", ErrMalformed, name)
	}
	return f, err
}

// enter reads an object up to the value of its member want.
func enter(dec *jsontext.Decoder, want string) error {
	if dec.PeekKind() != '{' {
		return fmt.Errorf("%w: no object around %q", ErrMalformed, want)
	}
	if _, err := dec.ReadToken(); err != nil {
		return malformed(err)
	}
	for dec.PeekKind() == '"' {
		tok, err := dec.ReadToken()
		if err != nil {
			return malformed(err)
		}
		if tok.String() == want {
			return nil
		}
		if err := dec.SkipValue(); err != nil {
			return malformed(err)
		}
	}
	return fmt.Errorf("%w: no member %q", ErrMalformed, want)
}

func read(dec *jsontext.Decoder, tagged bool) (*File, error) {
	if dec.PeekKind() != '{' {
		// Reading the whole value distinguishes invalid JSON from valid JSON of another type.
		if err := dec.SkipValue(); err != nil {
			return nil, malformed(err)
		}
		return nil, fmt.Errorf("%w: not a JSON object", ErrMalformed)
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, malformed(err)
	}
	f := new(File)
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, malformed(err)
		}
		switch kind := dec.PeekKind(); {
		case name.String() == "publication" && kind == '"':
			tok, err := dec.ReadToken()
			if err != nil {
				return nil, malformed(err)
			}
			f.Published, _ = time.Parse(time.RFC3339, tok.String())
		case name.String() == "services" && kind == '[':
			if f.Services, err = readServices(dec, tagged); err != nil {
				return nil, malformed(err)
			}
		default:
			if err := dec.SkipValue(); err != nil {
				return nil, malformed(err)
			}
		}
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, malformed(err)
	}
	return f, nil
}

func readServices(dec *jsontext.Decoder, tagged bool) ([]Service, error) {
	var out []Service
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	for dec.PeekKind() != ']' {
		if dec.PeekKind() != '[' {
			if err := dec.SkipValue(); err != nil {
				return nil, err
			}
			continue
		}
		s, err := readService(dec, tagged)
		if err != nil {
			return nil, err
		}
		if len(s.Keys) > 0 && len(s.URLs) > 0 {
			out = append(out, s)
		}
	}
	_, err := dec.ReadToken()
	return out, err
}

func readService(dec *jsontext.Decoder, tagged bool) (Service, error) {
	var s Service
	keys := 0
	if tagged {
		keys = 1
	}
	if _, err := dec.ReadToken(); err != nil {
		return s, err
	}
	for i := 0; dec.PeekKind() != ']'; i++ {
		var err error
		switch {
		case dec.PeekKind() != '[':
			err = dec.SkipValue()
		case i == keys:
			s.Keys, err = readStrings(dec)
		case i == keys+1:
			s.URLs, err = readStrings(dec)
		default:
			err = dec.SkipValue()
		}
		if err != nil {
			return s, err
		}
	}
	_, err := dec.ReadToken()
	return s, err
}

func readStrings(dec *jsontext.Decoder) ([]string, error) {
	var out []string
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	for dec.PeekKind() != ']' {
		if dec.PeekKind() != '"' {
			if err := dec.SkipValue(); err != nil {
				return nil, err
			}
			continue
		}
		tok, err := dec.ReadToken()
		if err != nil {
			return nil, err
		}
		out = append(out, tok.String())
	}
	_, err := dec.ReadToken()
	return out, err
}

func malformed(err error) error {
	return fmt.Errorf("%w: %w", ErrMalformed, err)
}
