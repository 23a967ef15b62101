package rdap

import (
	"slices"
	"strings"
)

// An EventAction names the event that happened to an object at the time of an [Event] (RFC 9083
// section 10.2.3). The constants are the values that IANA has registered, except
// EventLastUpdate.
type EventAction string

// Actions of events.
const (
	EventRegistration        EventAction = "registration"
	EventReregistration      EventAction = "reregistration"
	EventLastChanged         EventAction = "last changed"
	EventExpiration          EventAction = "expiration"
	EventDeletion            EventAction = "deletion"
	EventReinstantiation     EventAction = "reinstantiation"
	EventTransfer            EventAction = "transfer"
	EventLocked              EventAction = "locked"
	EventUnlocked            EventAction = "unlocked"
	EventRegistrarExpiration EventAction = "registrar expiration"
	EventEnumValidation      EventAction = "enum validation expiration"
	EventLastUpdateDatabase  EventAction = "last update of rdap database"
	EventLastUpdate          EventAction = "last update" // not registered; some registrars send it for "last changed"
)

// A Role is the relation of an entity to the object that contains it (RFC 9083 section
// 10.2.4). The constants are the values that IANA has registered.
type Role string

// Roles of entities.
const (
	RoleRegistrant     Role = "registrant"
	RoleTechnical      Role = "technical"
	RoleAdministrative Role = "administrative"
	RoleAbuse          Role = "abuse"
	RoleBilling        Role = "billing"
	RoleRegistrar      Role = "registrar"
	RoleReseller       Role = "reseller"
	RoleSponsor        Role = "sponsor"
	RoleProxy          Role = "proxy"
	RoleNotifications  Role = "notifications"
	RoleNOC            Role = "noc"
)

// ParseEventAction returns an action in lower case: [EventLastChanged] for "Last Changed",
// "lastChanged" and "last_changed". ok is false if the action is unknown.
func ParseEventAction(s string) (action EventAction, ok bool) { return eventActions.parse(s) }

// Event returns the event of an action. Of several events it returns the last one, but of
// several registrations the first one. ok is false if the object has no such event with a date.
func (c *Common) Event(action EventAction) (event Event, ok bool) {
	for _, e := range c.Events {
		if parsed, _ := ParseEventAction(e.Action); parsed == action && e.Raw != "" && (!ok || replaces(action, e, event)) {
			event, ok = e, true
		}
	}
	return event, ok
}

// replaces reports which of two events with the same action counts: true for e, false for
// other.
func replaces(action EventAction, e, other Event) bool {
	switch {
	case e.Time.IsZero() || other.Time.IsZero():
		return !e.Time.IsZero()
	case action == EventRegistration:
		return e.Time.Before(other.Time)
	}
	return e.Time.After(other.Time)
}

// ParseRole returns a role in lower case: [RoleNOC] for "NOC". ok is false if the role is
// unknown.
func ParseRole(s string) (role Role, ok bool) { return roles.parse(s) }

var (
	eventActions = vocabularyOf(
		EventRegistration, EventReregistration, EventLastChanged, EventExpiration, EventDeletion, EventReinstantiation, EventTransfer,
		EventLocked, EventUnlocked, EventRegistrarExpiration, EventEnumValidation, EventLastUpdateDatabase, EventLastUpdate,
	)
	roles = vocabularyOf(
		RoleRegistrant, RoleTechnical, RoleAdministrative, RoleAbuse, RoleBilling, RoleRegistrar, RoleReseller, RoleSponsor, RoleProxy,
		RoleNotifications, RoleNOC,
	)
)

// A vocabulary is a list of words that servers spell in several ways.
type vocabulary[T ~string] struct {
	words     []T
	byLetters map[string]T // keys are the results of lettersOf
}

func vocabularyOf[T ~string](words ...T) vocabulary[T] {
	v := vocabulary[T]{words, make(map[string]T, len(words))}
	for _, w := range words {
		v.byLetters[lettersOf(string(w))] = w
	}
	return v
}

// parse returns the known word that has the letters of s. It returns an unknown word in lower
// case, with camel case split into words.
func (v vocabulary[T]) parse(s string) (word T, ok bool) {
	s = strings.TrimSpace(s)
	if slices.Contains(v.words, T(s)) {
		return T(s), true
	}
	for _, w := range v.words { // this loop takes less time than lettersOf
		if len(w) == len(s) && strings.EqualFold(string(w), s) {
			return w, true
		}
	}
	if word, ok = v.byLetters[lettersOf(s)]; ok {
		return word, true
	}
	if !camelCase(s) {
		return T(strings.ToLower(s)), false
	}
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; c >= 'A' && c <= 'Z' {
			b.WriteByte(' ')
			b.WriteByte(c + 'a' - 'A')
		} else {
			b.WriteByte(c)
		}
	}
	return T(b.String()), false
}

// lettersOf returns s in lower case without word separators.
func lettersOf(s string) string {
	if len(s) > 40 { // longer than any word
		return ""
	}
	return strings.ToLower(strings.Map(func(r rune) rune {
		if r == ' ' || r == '_' || r == '-' {
			return -1
		}
		return r
	}, s))
}

// camelCase reports whether s consists of lower-case letters with capitals inside.
func camelCase(s string) bool {
	capitals := false
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z':
		case c >= 'A' && c <= 'Z' && i > 0:
			capitals = true
		default:
			return false
		}
	}
	return capitals
}
