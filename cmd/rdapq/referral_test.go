package main

import (
	"testing"

	"github.com/rdapq/rdapq/client"
)

// A result without the registrar's part, because of a signal, gets no row. The next run retries
// the line.
func TestWasAbandoned(t *testing.T) {
	canceled := &client.Result{Failure: &client.Error{Code: client.CodeCanceled}}
	refused := &client.Result{Failure: &client.Error{Code: client.CodeRefused}}
	for name, tt := range map[string]struct {
		r    *client.Result
		want bool
	}{
		"answered":                {&client.Result{Verdict: client.VerdictRegistered}, false},
		"refused":                 {refused, false},
		"canceled":                {canceled, true},
		"registrar refused":       {&client.Result{Registrar: refused}, false},
		"registrar canceled":      {&client.Result{Registrar: canceled}, true},
		"second one canceled":     {&client.Result{Registrar: &client.Result{Registrar: canceled}}, true},
		"related object canceled": {&client.Result{Related: []*client.Result{refused, canceled}}, true},
	} {
		if got := wasAbandoned(tt.r); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
