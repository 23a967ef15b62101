package limit_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/rdapq/rdapq/limit"
)

func ExampleParseRate() {
	host, rate, err := limit.ParseRate("rdap.example=100/1m")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(host, rate, "one every", rate.Interval())
	// Output: rdap.example 100/1m one every 600ms
}

// A second program that opens the file knows that a server asked for a pause.
func ExampleOpenFile() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx, path := context.Background(), filepath.Join(dir, "budgets")

	first, err := limit.OpenFile(path)
	if err != nil {
		log.Fatal(err)
	}
	now := time.Now()
	if err := first.Add(ctx, "rdap.example", limit.Budget{Until: now.Add(time.Hour), Paused: now}); err != nil {
		log.Fatal(err)
	}
	if err := first.Close(); err != nil {
		log.Fatal(err)
	}

	second, err := limit.OpenFile(path)
	if err != nil {
		log.Fatal(err)
	}
	defer second.Close()
	for _, name := range []string{"rdap.example", "other.example"} {
		b, err := second.Load(ctx, name)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(name, "paused:", b.Until.After(now))
	}
	// Output:
	// rdap.example paused: true
	// other.example paused: false
}
