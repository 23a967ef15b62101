//go:build !linux

// Command internet needs the network namespaces of Linux.
package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "internet: it needs the network namespaces of Linux")
	os.Exit(2)
}
