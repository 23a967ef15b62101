package rdap_test

import (
	"fmt"
	"log"
	"time"

	"github.com/rdapq/rdapq/rdap"
)

// A Record has the data that a registrar imports. Read leaves data that a server omits empty.
func ExampleRead() {
	rec, err := rdap.Read([]byte(`{
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
	fmt.Println(rec.LDHName, rec.Statuses()[0].EPP())
	if event, ok := rec.Event(rdap.EventExpiration); ok {
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
	// ALPHA.EXAMPLE. clientTransferProhibited
	// expiration 2029-07-13 10:00:00 +0000 UTC
	// [registrant]: "", Moss and Gravel Press, [owner@holders.example]
	// Registrant Name: by request
}

// A monitor compares today's record with yesterday's.
func ExampleDiff() {
	before, err := rdap.Read([]byte(`{"objectClassName": "domain", "ldhName": "alpha.example", "status": ["active"],
		"nameservers": [{"ldhName": "ns1.alpha.example"}, {"ldhName": "ns2.alpha.example"}]}`))
	if err != nil {
		log.Fatal(err)
	}
	after, err := rdap.Read([]byte(`{"objectClassName": "domain", "ldhName": "alpha.example", "status": ["pendingDelete", "redemptionPeriod"],
		"nameservers": [{"ldhName": "NS2.ALPHA.EXAMPLE."}, {"ldhName": "ns1.alpha.example"}]}`))
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range rdap.Diff(before, after) {
		fmt.Println(c.Field, c.Old, c.New)
	}
	life := rdap.LifecycleOf(after, time.Now())
	fmt.Println(life.Phase, life.Basis)
	// Output:
	// status [active] [pending delete redemption period]
	// redemption [status redemption period]
}
