//go:build !linux

// Command internet needs the network namespaces of Linux.
package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "internet: needs network namespaces of Linux")
	os.Exit(2)
}
