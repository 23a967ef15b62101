//go:build !linux

package main

import "github.com/rogpeppe/go-internal/testscript"

func cmdMounted(ts *testscript.TestScript, _ bool, _ []string) { ts.Fatalf("tmpfs is not available") }

func cmdRemounted(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Fatalf("tmpfs is not available")
}
