package render

import (
	"testing"
	"time"

	"github.com/rdapq/rdapq/rdap"
)

func at(t *testing.T, s string) time.Time {
	t.Helper()
	when, err := time.Parse(time.RFC3339, s)
	if err != nil {
		t.Fatal(err)
	}
	return when
}

func plainText(l line) string {
	var s string
	for _, part := range l {
		s += part.text
	}
	return s
}

func TestAgo(t *testing.T) {
	for date, want := range map[string]string{
		"2024-03-01T00:00:00Z":      "today",
		"2024-03-01T23:00:00Z":      "today",
		"2024-02-29T23:59:59Z":      "1 day ago",
		"2024-02-29T23:00:00-05:00": "today",
		"2024-01-02T00:00:00Z":      "59 days ago",
		"2023-12-01T00:00:00Z":      "3 months ago",
		"2023-12-02T00:00:00Z":      "2 months ago",
		"2022-03-02T00:00:00Z":      "23 months ago",
		"2022-03-01T00:00:00Z":      "2 years ago",
		"2019-03-01T00:00:00Z":      "5 years ago",
		"1600-03-01T00:00:00Z":      "424 years ago",
		"2024-03-11T00:00:00Z":      "in 10 days",
		"9999-12-31T00:00:00Z":      "in 7975 years",
	} {
		if got := ago(at(t, date), noon); got != want {
			t.Errorf("%s is %q, want %q", date, got, want)
		}
	}
}

func TestDeadline(t *testing.T) {
	p := &page{opt: TextOptions{Now: noon}}
	for date, want := range map[string]string{
		"2024-06-02T04:00:00Z": "2024-06-02 (93 days left)",
		"2024-03-02T00:00:00Z": "2024-03-02 (1 day left)",
		"2024-03-01T23:00:00Z": "2024-03-01 (today)",
		"2024-02-25T00:00:00Z": "2024-02-25 (expired 5 days ago)",
		"2034-03-01T00:00:00Z": "2034-03-01 (10 years left)",
		"2025-03-01T00:00:00Z": "2025-03-01 (365 days left)",
	} {
		if got := plainText(p.deadline(rdap.Event{Raw: date, Time: at(t, date)})); got != want {
			t.Errorf("%s is %q, want %q", date, got, want)
		}
	}
	if got := plainText(p.deadline(rdap.Event{Raw: "soon"})); got != "soon (unrecognized)" {
		t.Errorf("got %q", got)
	}
}

func TestEventChoice(t *testing.T) {
	list := []rdap.Event{
		{Action: "Registration", Raw: "b", Time: noon},
		{Action: "registration", Raw: "a", Time: noon.AddDate(-1, 0, 0)},
		{Action: "last changed", Raw: "c", Time: noon.AddDate(-1, 0, 0)},
		{Action: "last changed ", Raw: "d", Time: noon},
		{Action: "last changed"},
	}
	for action, want := range map[string]string{eventRegistration: "a", eventLastChanged: "d"} {
		if e, ok := event(list, action); !ok || e.Raw != want {
			t.Errorf("%s: %q, want %q", action, e.Raw, want)
		}
	}
	if _, ok := event(list, eventExpiration); ok {
		t.Error("an expiration out of nothing")
	}
}

// TestDateOnly checks that a date without a time denotes the same day in every zone and gets no
// time.
func TestDateOnly(t *testing.T) {
	day, dateOnly, ok := rdap.ParseDate("20240302")
	if !dateOnly || !ok {
		t.Fatalf("%v, %v", dateOnly, ok)
	}
	e := rdap.Event{Raw: "20240302", Time: day, DateOnly: true}
	for _, hours := range []int{-11, 0, 14} {
		zone := time.FixedZone("X", hours*3600)
		for times, want := range map[Times]string{TimesByDay: "2024-03-02 (1 day left)", TimesToTheSecond: "2024-03-02 (1 day left)", TimesAsSent: "20240302 (1 day left)"} {
			p := &page{opt: TextOptions{Now: time.Date(2024, 3, 1, 12, 0, 0, 0, zone), Zone: zone, Times: times}}
			if got := plainText(p.deadline(e)); got != want {
				t.Errorf("%d hours east, %v: %q, want %q", hours, times, got, want)
			}
		}
	}
	p := &page{opt: TextOptions{Now: noon, Times: TimesToTheSecond}}
	if got := plainText(p.when(e)); got != "2024-03-02 (in 1 day)" {
		t.Errorf("%q", got)
	}
}

// TestUnrecognizedDate checks that an unrecognized date does not hide a recognized date.
func TestUnrecognizedDate(t *testing.T) {
	for _, action := range []string{eventRegistration, eventExpiration} {
		good, junk := rdap.Event{Action: action, Raw: "a", Time: noon}, rdap.Event{Action: action, Raw: "junk"}
		for _, list := range [][]rdap.Event{{good, junk}, {junk, good}} {
			if e, ok := event(list, action); !ok || e.Raw != "a" {
				t.Errorf("%v: chose %q", list, e.Raw)
			}
		}
	}
}
