// Command transfer reports whether domains can be transferred to another registrar, and
// lists the obstacles: locks, a recent registration or transfer, a deletion in progress.
//
//	go run . example.com example.net
//
// It exits with code 1 if a domain cannot be transferred, and with 2 if it is not known.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"time"

	"github.com/rdapq/rdapq/client"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, client.Config{UserAgent: "example-transfer/1.0"}, os.Args[1:]))
}

// run prints a report for each name and returns the exit code.
func run(ctx context.Context, config client.Config, names []string) (code int) {
	c, err := client.New(config)
	if err != nil {
		fmt.Fprintln(os.Stderr, "transfer:", err)
		return 2
	}
	defer c.Close()
	for r := range c.Batch(ctx, client.Inputs(slices.Values(names))).All() {
		v, err := judge(r, time.Now())
		if err != nil {
			fmt.Printf("%s: unknown: %v\n", r.Query.Text, err)
			code = 2
			continue
		}
		fmt.Printf("%s: %s\n", r.Query.Text, v)
		if !v.possible() {
			code = max(code, 1)
		}
	}
	return code
}
