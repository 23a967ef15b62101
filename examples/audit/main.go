// Command audit looks up a portfolio of domains from an SQLite database, and reports those
// that expire soon and those that changed since the last audit.
//
// The database has the table
//
//	CREATE TABLE domains (name TEXT PRIMARY KEY, rdap BLOB, checked TEXT)
//
// with NULL for rdap and checked at first. An audit may be interrupted, even by kill -9:
// the same command continues, and looks up no domain again that has its response. Only
// a complete audit changes the database.
//
//	go run . -db portfolio.db -journal audit.ndjson
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/rdapq/rdapq/client"
)

func main() {
	db := flag.String("db", "portfolio.db", "database with the table domains")
	journal := flag.String("journal", "audit.ndjson", "file for the results until the audit is complete")
	days := flag.Int("days", 30, "report domains that expire within `N` days")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	a := audit{
		database: *db, journal: *journal, days: *days, now: time.Now(), out: os.Stdout,
		config: client.Config{UserAgent: "example-audit/1.0"},
	}
	if err := a.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "audit:", err)
		os.Exit(1)
	}
}
