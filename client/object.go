package client

import (
	"bytes"

	"github.com/openrdap/rdap"
)

// Record reads the answer in r.Raw: see [ReadRecord]. It is decoded anew with
// each call. Without an answer the error is r.Err, or says that there is none.
func (r *Result) Record() (*Record, error) {
	if len(r.Raw) == 0 {
		return nil, r.noAnswer()
	}
	return r.readRecord()
}

// Object decodes the answer in r.Raw into a type of github.com/openrdap/rdap:
// *rdap.Domain, *rdap.IPNetwork and so on. That model is convenient and
// lossy: it drops members it does not know, reads null and absent numbers as
// 0, and answers without objectClassName may be refused. Never write it back
// in place of the server's own bytes, which are r.Raw. It is decoded anew with
// each call.
func (r *Result) Object() (rdap.RDAPObject, error) {
	if len(r.Raw) == 0 {
		return nil, r.noAnswer()
	}
	raw := bytes.TrimSpace(trimBOM(r.Raw))
	if !bytes.HasPrefix(raw, []byte{'{'}) { // the decoder makes something of null
		return nil, notRDAP(nil, "no JSON object: %s", excerpt(raw))
	}
	if tooDeep(raw) {
		return nil, errTooDeep()
	}
	obj, err := rdap.NewDecoder(raw).Decode()
	if err != nil {
		return nil, notRDAP(err, "%v", err)
	}
	return obj, nil
}

func (r *Result) noAnswer() error {
	if r.Err != nil {
		return r.Err
	}
	return notRDAP(nil, "an empty body")
}
