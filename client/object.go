package client

import (
	"bytes"

	"github.com/rdapq/rdapq/rdap"
)

// Response returns the checked response in r.Raw: see [rdap.Parse]. Without a response
// the error is r.Err, or says that there is none.
func (r *Result) Response() (*rdap.Response, error) {
	if len(r.Raw) == 0 {
		return nil, r.noAnswer()
	}
	if r.parsed != nil && len(r.Raw) == len(r.parsedRaw) && &r.Raw[0] == &r.parsedRaw[0] {
		return r.parsed, nil
	}
	return rdap.Parse(r.Raw)
}

// parse checks r.Raw once for all who read it.
func (r *Result) parse() (*rdap.Response, error) {
	resp, err := rdap.Parse(r.Raw)
	r.parsed, r.parsedRaw = resp, r.Raw
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

func (r *Result) noAnswer() error {
	if r.Err != nil {
		return r.Err
	}
	return &rdap.FormatError{Reason: "an empty body"}
}

func withoutBOM(raw []byte) []byte { return bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf")) }
