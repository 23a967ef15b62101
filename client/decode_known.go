package client

import "bytes"

// known is what is known of a Result's Raw: the survey holds for that slice
// only, since the field may be given another one.
type known struct {
	survey survey
	raw    []byte
}

// learn keeps what was found out about r.Raw.
func (r *Result) learn(s survey) { r.known = known{survey: s, raw: r.Raw} }

// survey returns what is known of r.Raw, nothing if it is not the body that the
// lookup looked at.
func (r *Result) survey() survey {
	k := &r.known
	if len(r.Raw) == 0 || len(r.Raw) != len(k.raw) || &r.Raw[0] != &k.raw[0] {
		return survey{}
	}
	return k.survey
}

// document opens r.Raw, without a second check if the lookup has checked it.
func (r *Result) document() (document, error) {
	if r.survey().valid {
		return document{object: r.Raw}, nil
	}
	return openDocument(r.Raw)
}

// Compact does what the function [Compact] does for r.Raw. It is faster where
// the lookup has checked the answer already.
func (r *Result) Compact(dst []byte) (out []byte, warnings []string, err error) {
	switch s := r.survey(); {
	case !s.valid || !s.plain:
		return Compact(dst, r.Raw)
	case s.tight:
		return append(dst, bytes.TrimSpace(r.Raw)...), nil, nil
	default:
		return appendTight(dst, r.Raw), nil, nil
	}
}
