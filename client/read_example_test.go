package client_test

import (
	"context"
	"fmt"
	"log"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/rdaptest"
)

// A Record has what a registrar's importer wants of an answer. What a server left
// out is absent, and nothing is made up for it.
func ExampleReadRecord() {
	rec, err := client.ReadRecord([]byte(`{
		"objectClassName": "domain", "ldhName": "ALPHA.EXAMPLE.", "status": ["client transfer prohibited"],
		"events": [{"eventAction": "expiration", "eventDate": "2029-07-13T12:00:00+02:00"}],
		"entities": [{"objectClassName": "entity", "roles": ["registrant"], "vcardArray": ["vcard", [
			["version", {}, "text", "4.0"], ["fn", {}, "text", ""], ["org", {}, "text", "Moss and Gravel Press"],
			["email", {}, "text", "owner@holders.example"]]]}],
		"redacted": [{"name": {"type": "Registrant Name"}, "method": "emptyValue", "reason": {"description": "by request"}}]
	}`))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(client.DisplayName(rec.LDHName), client.EPPStatus(rec.Status[0]))
	for _, event := range rec.Events {
		fmt.Println(event.Action, event.Time.UTC())
	}
	for _, entity := range rec.Entities {
		contact := entity.Contact()
		fmt.Printf("%v: %q, %s, %v\n", entity.Roles, contact.Name, contact.Org, contact.Emails)
	}
	for _, r := range rec.Redacted {
		fmt.Println(r.Name+":", r.Reason)
	}
	// Output:
	// alpha.example clientTransferProhibited
	// expiration 2029-07-13 10:00:00 +0000 UTC
	// [registrant]: "", Moss and Gravel Press, [owner@holders.example]
	// Registrant Name: by request
}

// Search yields pages as they come; the records of each are its Results.
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
			log.Fatal(err) // client.ErrIncomplete: the pages so far are good
		}
		rec, err := page.Record()
		if err != nil {
			log.Fatal(err)
		}
		for _, domain := range rec.Results {
			fmt.Println(page.Number, domain.LDHName)
		}
		if page.Number == 2 {
			break // no more is asked for
		}
	}
	// Output:
	// 1 exam1.example
	// 1 exam2.example
	// 2 exam3.example
	// 2 exam4.example
}
