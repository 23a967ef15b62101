package client

import (
	"strings"
	"time"
)

type dateForm int

const (
	dateRFC3339 dateForm = iota // or no date at all
	dateOdd                     // another form with a plain meaning
	dateJunk                    // no date
)

// oddDates are forms that servers send in place of RFC 3339.
var oddDates = [...]string{
	"2006-01-02T15:04:05Z0700",
	"2006-01-02 15:04:05Z07:00",
	"2006-01-02 15:04:05Z0700",
	"2006-01-02T15:04Z07:00",
	"2006-01-02T15:04:05",
	"2006-01-02 15:04:05",
	"2006-01-02",
}

// parseDate reads a date. The year 1 is what some servers have for no date.
func parseDate(s string) (time.Time, dateForm) {
	if s == "" {
		return time.Time{}, dateRFC3339
	}
	t, err := time.Parse(time.RFC3339, s)
	form := dateRFC3339
	if err != nil {
		upper := strings.ToUpper(strings.TrimSpace(s))
		if t, err = time.Parse(time.RFC3339, upper); err != nil {
			form = dateOdd
			for _, layout := range oddDates {
				if t, err = time.Parse(layout, upper); err == nil {
					break
				}
			}
		}
	}
	if err != nil || t.Year() <= 1 {
		return time.Time{}, dateJunk
	}
	return t, form
}
