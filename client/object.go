package client

import (
	"bytes"

	openrdap "github.com/openrdap/rdap"

	"github.com/rdapq/rdapq/rdap"
)

// Response returns the checked response in r.Raw: see [rdap.Parse]. Without a response
// the error is r.Err, or says that there is none.
func (r *Result) Response() (*rdap.Response, error) {
	if len(r.Raw) == 0 {
		return nil, r.noAnswer()
	}
	if r.parsed != nil && len(r.Raw) == len(r.of) && &r.Raw[0] == &r.of[0] {
		return r.parsed, nil
	}
	return rdap.Parse(r.Raw)
}

// parse checks r.Raw once for all who read it.
func (r *Result) parse() (*rdap.Response, error) {
	resp, err := rdap.Parse(r.Raw)
	r.parsed, r.of = resp, r.Raw
	return resp, err
}

// Record decodes the response in r.Raw: see [rdap.Read]. It decodes anew with each
// call. Without a response the error is r.Err, or says that there is none.
func (r *Result) Record() (*rdap.Record, error) {
	resp, err := r.Response()
	if err != nil {
		return nil, err
	}
	return resp.Record(), nil
}

// Summary reads the summary of the response in r.Raw: see [rdap.Summarize]. It is zero
// when there is none. It decodes anew with each call.
func (r *Result) Summary() rdap.Summary {
	resp, err := r.Response()
	if err != nil {
		return rdap.Summary{}
	}
	s, _ := resp.Summary()
	return s
}

// Object decodes the answer in r.Raw into a type of github.com/openrdap/rdap:
// *rdap.Domain, *rdap.IPNetwork and so on. That model is convenient and
// lossy: it drops members it does not know, reads null and absent numbers as
// 0, and answers without objectClassName may be refused. Never write it back
// in place of the server's own bytes, which are r.Raw. It is decoded anew with
// each call.
func (r *Result) Object() (openrdap.RDAPObject, error) {
	if len(r.Raw) == 0 {
		return nil, r.noAnswer()
	}
	if _, err := r.Response(); err != nil { // the decoder makes something of null
		return nil, err
	}
	raw := bytes.TrimSpace(withoutBOM(r.Raw))
	obj, err := openrdap.NewDecoder(raw).Decode()
	if err != nil {
		return nil, &rdap.FormatError{Reason: err.Error(), Err: err}
	}
	return obj, nil
}

func (r *Result) noAnswer() error {
	if r.Err != nil {
		return r.Err
	}
	return &rdap.FormatError{Reason: "an empty body"}
}

func withoutBOM(raw []byte) []byte { return bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf")) }
