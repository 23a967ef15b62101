package merge_test

import (
	"slices"
	"testing"
	"time"

	"github.com/rdapq/rdapq/internal/merge"
	"github.com/rdapq/rdapq/rdap"
)

func TestDiffers(t *testing.T) {
	day := time.Date(2027, 3, 14, 12, 0, 0, 0, time.UTC)
	dated := func(name string, at time.Time) merge.Fact {
		return merge.Fact{Name: name, Values: []string{at.String()}, Time: at}
	}
	for _, tt := range []struct {
		name string
		a, b merge.Fact
		want bool
	}{
		{"order and case", merge.Fact{Name: "status", Values: []string{"Active", "client hold"}}, merge.Fact{Name: "status", Values: []string{"client  hold", "active"}}, false},
		{"values", merge.Fact{Name: "status", Values: []string{"active"}}, merge.Fact{Name: "status", Values: []string{"inactive"}}, true},
		{"less than a day", dated("expiration", day), dated("expiration", day.Add(20*time.Hour)), false},
		{"more than a day", dated("expiration", day), dated("expiration", day.Add(-25*time.Hour)), true},
		{"last change", dated("last changed", day), dated("last changed", day.Add(999*time.Hour)), false},
		{"registrar's name", merge.Fact{Name: "registrar", Values: []string{"A", "9"}}, merge.Fact{Name: "registrar", Values: []string{"A Inc.", "9"}}, false},
		{"registrar's number", merge.Fact{Name: "registrar", Values: []string{"A", "9"}}, merge.Fact{Name: "registrar", Values: []string{"A", "10"}}, true},
	} {
		if got := tt.a.Differs(tt.b); got != tt.want || tt.b.Differs(tt.a) != got {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestRecords(t *testing.T) {
	read := func(raw string) *rdap.Record {
		t.Helper()
		rec, err := rdap.Read([]byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		return rec
	}
	registry := read(`{"objectClassName":"domain","ldhName":"alpha.example","status":["active"],
		"events":[{"eventAction":"expiration","eventDate":"2027-01-01T00:00:00Z"}],
		"entities":[{"objectClassName":"entity","handle":"9","roles":["registrar"]},{"objectClassName":"entity","handle":"X","roles":["registrant"]}]}`)
	registrar := read(`{"objectClassName":"domain","ldhName":"alpha.example","status":["inactive"],
		"events":[{"eventAction":"expiration","eventDate":"2028-01-01T00:00:00Z"},{"eventAction":"Registrar Expiration","eventDate":"2027-06-01T00:00:00Z"}],
		"nameservers":[{"objectClassName":"nameserver","ldhName":"ns1.example"}],
		"entities":[{"objectClassName":"entity","handle":"R-1","roles":["registrant"],"vcardArray":["vcard",[["version",{},"text","4.0"],["fn",{},"text","Ada"]]]}]}`)
	got := merge.Records(registry, registrar)
	var handles, events []string
	for _, e := range got.Entities {
		handles = append(handles, e.Handle)
	}
	for _, e := range got.Events {
		events = append(events, e.Action+" "+e.Raw)
	}
	if !slices.Equal(got.Status, []string{"active"}) || len(got.Nameservers) != 1 {
		t.Errorf("status %q, %d nameservers", got.Status, len(got.Nameservers))
	}
	if want := []string{"9", "R-1"}; !slices.Equal(handles, want) {
		t.Errorf("entities %q, want %q", handles, want)
	}
	if want := []string{"expiration 2027-01-01T00:00:00Z", "registrar expiration 2027-06-01T00:00:00Z"}; !slices.Equal(events, want) {
		t.Errorf("events %q, want %q", events, want)
	}
	if len(registry.Nameservers) != 0 || len(registry.Events) != 1 {
		t.Error("the registry's record was changed")
	}
}
