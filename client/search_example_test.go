package client_test

import (
	"context"
	"fmt"
	"log"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/rdaptest"
)

// Search yields pages as they arrive. Results is the number of records on all pages so far.
func ExampleClient_Search() {
	s, c, done := exampleServer(rdaptest.Config{Searches: &rdaptest.Searches{Objects: directory(5), PageSize: 2}})
	defer done()

	q, err := client.ParseAs(client.TypeDomains, "exam*.example")
	if err != nil {
		log.Fatal(err)
	}
	q.Server = s.URL()
	for page, err := range c.Search(context.Background(), q) {
		if err != nil {
			log.Fatal(err) // with client.ErrIncomplete, the pages so far are valid
		}
		rec, err := page.Record()
		if err != nil {
			log.Fatal(err)
		}
		for _, domain := range rec.Results {
			fmt.Println(page.Number, domain.LDHName)
		}
		if page.Number == 2 {
			break // ends the search without a further request
		}
	}
	// Output:
	// 1 exam1.example
	// 1 exam2.example
	// 2 exam3.example
	// 2 exam4.example
}
