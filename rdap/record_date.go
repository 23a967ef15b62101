package rdap

import (
	"strings"
	"time"

	"github.com/rdapq/rdapq/rdap/internal/jsonscan"
)

// A dateForm is the format of a date.
type dateForm int

const (
	dateRFC3339     dateForm = iota // format of RFC 3339; also for an empty text
	dateNonstandard                 // another unambiguous format
	dateInvalid                     // unrecognized format
)

// Problem messages for dates that are not in RFC 3339 format.
const (
	invalidDate     = "unrecognized date"
	nonstandardDate = "date is not in RFC 3339 format"
)

// nonstandardDates lists formats that servers send instead of RFC 3339. Dates without an offset
// are in UTC.
var nonstandardDates = [...]string{
	"2006-01-02T15:04:05Z0700",
	"2006-01-02 15:04:05Z07:00",
	"2006-01-02 15:04:05Z0700",
	"2006-01-02T15:04Z07:00",
	"2006-01-02T15:04:05",
	"2006-01-02 15:04:05",
	"20060102T150405Z0700", // the basic format of ISO 8601
	"20060102T150405Z07:00",
	"20060102T150405",
	"20060102150405",
}

// dayForms lists formats of dates without a time.
var dayForms = [...]string{
	"2006-01-02",
	"20060102",
	"2006/01/02",
	"2006.01.02",
	"2006-01-02Z07:00", // the format of XML Schema
	"02-Jan-2006",
}

// ParseDate parses a date of a response, such as [Summary.Created]. It accepts the formats that
// servers send: RFC 3339, ISO 8601 basic format, dates without an offset (UTC), and dates
// without a time. A leap second becomes the next second. A date without a time becomes midnight
// UTC with dateOnly true; do not convert it to another time zone. ok is false for an empty
// text, an unrecognized date, and the year 1, which some servers send for an absent date.
func ParseDate(s string) (t time.Time, dateOnly, ok bool) {
	t, dateOnly, form := parseDate(s)
	return t, dateOnly, s != "" && form != dateInvalid
}

func parseDate(s string) (t time.Time, dateOnly bool, form dateForm) {
	if s == "" {
		return time.Time{}, false, dateRFC3339
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		t, dateOnly, form, err = parseNonstandardDate(strings.ToUpper(strings.TrimSpace(s)))
	}
	if err != nil || t.Year() <= 1 || t.Year() > 9999 {
		return time.Time{}, false, dateInvalid
	}
	return t, dateOnly, form
}

// parseNonstandardDate parses a date in upper case.
func parseNonstandardDate(s string) (t time.Time, dateOnly bool, form dateForm, err error) {
	if before, leap := cutLeapSecond(s); leap {
		t, err = time.Parse(time.RFC3339, before)
		if err != nil {
			t, err = parseForms(nonstandardDates[:], before)
			form = dateNonstandard
		}
		return t.Add(time.Second), false, form, err
	}
	if t, err = time.Parse(time.RFC3339, s); err == nil {
		return t, false, dateRFC3339, nil
	}
	if t, err = parseForms(nonstandardDates[:], s); err == nil {
		return t, false, dateNonstandard, nil
	}
	if t, err = parseForms(dayForms[:], s); err == nil {
		// The written day counts, whatever its offset.
		return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC), true, dateNonstandard, nil
	}
	return t, false, dateNonstandard, err
}

func parseForms(forms []string, s string) (t time.Time, err error) {
	for _, form := range forms {
		if t, err = time.Parse(form, s); err == nil {
			break
		}
	}
	return t, err
}

// cutLeapSecond replaces the seconds of a date with 59 if they are 60.
func cutLeapSecond(s string) (before string, leap bool) {
	for _, at := range [...]struct {
		seconds int
		sign    byte // byte before the seconds; 0 means a digit
	}{{len("2006-01-02T15:04:"), ':'}, {len("20060102T1504"), 0}, {len("200601021504"), 0}} {
		i := at.seconds
		if len(s) < i+2 || s[i:i+2] != "60" || len(s) > i+2 && jsonscan.IsDigit(s[i+2]) {
			continue
		}
		if sign := s[i-1]; sign == at.sign || at.sign == 0 && jsonscan.IsDigit(sign) {
			return s[:i] + "59" + s[i+2:], true
		}
	}
	return s, false
}
