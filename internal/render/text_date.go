package render

import (
	"strconv"
	"strings"
	"time"

	"github.com/rdapq/rdapq/rdap"
)

const notPublished = "not published"

// Event actions with their own row (RFC 9083 section 10.2.3).
const (
	eventRegistration        = "registration"
	eventLastChanged         = "last changed"
	eventLastUpdate          = "last update" // not registered; MarkMonitor sends this action for "last changed"
	eventExpiration          = "expiration"
	eventRegistrarExpiration = "registrar expiration"
	eventTransfer            = "transfer"
	eventDatabase            = "last update of RDAP database"
)

// Times selects the format of dates in text.
type Times int

// Values of Times.
const (
	TimesByDay       Times = iota // dates such as 2024-02-28; as sent in verbose text
	TimesToTheSecond              // dates such as 2024-02-28 23:59:59 UTC
	TimesAsSent                   // dates such as 2024-02-28T23:59:59Z, or as the server wrote them
)

// secondFormat is the format of TimesToTheSecond, with the zone's own name.
const secondFormat = "2006-01-02 15:04:05 MST"

// event returns the event with the action: the first event for registrations, the last one for
// other actions. It prefers recognized dates.
func event(events []rdap.Event, action string) (rdap.Event, bool) {
	var found rdap.Event
	ok := false
	for _, e := range events {
		if !strings.EqualFold(strings.TrimSpace(e.Action), action) || e.Raw == "" {
			continue
		}
		switch {
		case !ok, found.Time.IsZero() && !e.Time.IsZero():
			found, ok = e, true
		case e.Time.IsZero():
		case e.Time.After(found.Time) != (action == eventRegistration):
			found = e
		}
	}
	return found, ok
}

// when returns the date of an event and the time since then.
func (p *page) when(e rdap.Event) line {
	if e.Time.IsZero() {
		return text(e.Raw).and(styleWarn, " (unrecognized)")
	}
	return text(p.date(e)).note(ago(p.moment(e), p.now()))
}

// deadline returns a date and the time until then.
func (p *page) deadline(e rdap.Event) line {
	if e.Time.IsZero() {
		return p.when(e)
	}
	l := text(p.date(e))
	if p.opt.Now.IsZero() {
		return l
	}
	now, end := p.now(), p.moment(e)
	days := daysBetween(now, end)
	switch {
	case days < 0:
		return l.and(styleError, " (expired "+ago(end, now)+")")
	case days == 0:
		return l.and(styleError, " (today)")
	case days <= 30:
		return l.and(styleWarn, " ("+count(days, "day")+" left)")
	case days <= 730:
		return l.note(count(days, "day") + " left")
	default:
		return l.note(count(yearsBetween(now, end), "year") + " left")
	}
}

func (p *page) date(e rdap.Event) string {
	switch {
	case p.opt.Times == TimesToTheSecond && !e.DateOnly:
		return e.Time.In(p.zone()).Format(secondFormat)
	case p.opt.Times == TimesAsSent, p.opt.Verbose && p.opt.Times != TimesToTheSecond:
		return e.Raw
	}
	return p.moment(e).Format(time.DateOnly)
}

// moment returns the time of an event in the zone of the text. A date without a time denotes
// the same day in every zone.
func (p *page) moment(e rdap.Event) time.Time { return momentIn(e, p.zone()) }

func momentIn(e rdap.Event, zone *time.Location) time.Time {
	if !e.DateOnly {
		return e.Time.In(zone)
	}
	year, month, day := e.Time.UTC().Date()
	// at noon, because some zones skip midnight on some days
	return time.Date(year, month, day, 12, 0, 0, 0, zone)
}

func (p *page) zone() *time.Location {
	if p.opt.Zone == nil {
		return time.UTC
	}
	return p.opt.Zone
}

// now returns the reference time, in the zone of the text.
func (p *page) now() time.Time {
	if p.opt.Now.IsZero() {
		return time.Time{}
	}
	return p.opt.Now.In(p.zone())
}

// ago returns in one unit how far t lies before or after now, by the calendar of now.
func ago(t, now time.Time) string {
	if now.IsZero() {
		return ""
	}
	t = t.In(now.Location())
	days := daysBetween(t, now)
	if days < 0 {
		return "in " + span1(now, t)
	}
	if days == 0 {
		return "today"
	}
	return span1(t, now) + " ago"
}

// span1 returns the time from a to b in one unit.
func span1(a, b time.Time) string {
	days := daysBetween(a, b)
	if days < 60 {
		return count(days, "day")
	}
	if years := yearsBetween(a, b); years >= 2 {
		return count(years, "year")
	}
	return count(monthsBetween(a, b), "month")
}

// daysBetween returns the difference in calendar days, each counted in the zone of its time.
func daysBetween(a, b time.Time) int { return int(dayOf(b) - dayOf(a)) }

// dayOf returns the number of a calendar day. It does not use Durations, which are
// limited to 292 years.
func dayOf(t time.Time) int64 {
	const day = 24 * 60 * 60
	_, offset := t.Zone()
	return floorDiv(t.Unix()+int64(offset), day)
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

func monthsBetween(a, b time.Time) int {
	months := (b.Year()-a.Year())*12 + int(b.Month()-a.Month())
	if b.Day() < a.Day() {
		months--
	}
	return months
}

func yearsBetween(a, b time.Time) int { return monthsBetween(a, b) / 12 }

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// eventLabels names the events that have their own row.
var eventLabels = [...]struct{ action, label string }{
	{eventRegistration, "Registered"},
	{eventLastChanged, "Updated"},
	{eventTransfer, "Transferred"},
	{eventExpiration, "Expires"},
}

// events writes all events except those in done: known events in separate rows, other events
// with their names.
func (p *page) events(events []rdap.Event, done []string) {
	for _, known := range eventLabels {
		e, ok := event(events, known.action)
		if !ok && known.action == eventLastChanged {
			e, ok = event(events, eventLastUpdate)
			done = append(done, eventLastUpdate)
		}
		if ok && !contains(done, known.action) {
			if known.action == eventExpiration {
				p.row(known.label, p.deadline(e))
			} else {
				p.row(known.label, p.when(e))
			}
		}
		done = append(done, known.action)
	}
	var others []line
	for _, e := range events {
		if contains(done, e.Action) || strings.EqualFold(e.Action, eventDatabase) && !p.opt.Verbose {
			continue
		}
		others = append(others, p.happened(e))
	}
	p.row("Events", others...)
}

// happened returns an event that has no separate row.
func (p *page) happened(e rdap.Event) line {
	l := text(e.Action + " ")
	if e.Raw == "" {
		return l.and(styleDim, "no date")
	}
	return append(l, p.when(e)...)
}

func contains(list []string, action string) bool {
	for _, s := range list {
		if strings.EqualFold(s, strings.TrimSpace(action)) {
			return true
		}
	}
	return false
}
