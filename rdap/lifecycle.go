package rdap

import (
	"slices"
	"strings"
	"time"
)

// A Phase is a stage in the life of a domain. The names are those of the grace periods
// of EPP (RFC 3915) where there is one.
type Phase string

// Phases of a domain. The zero value is used for records that are not of a domain.
const (
	PhaseActive        Phase = "active"         // registered, and not in any phase below
	PhaseExpired       Phase = "expired"        // past its expiration date
	PhaseAutoRenew     Phase = "auto renew"     // renewed by the registry; the registrar may still delete it without cost
	PhaseRedemption    Phase = "redemption"     // deleted; its registrar can restore it
	PhasePendingDelete Phase = "pending delete" // deleted; it can no longer be restored, and becomes available within days
)

// A Lifecycle says at which stage of its life a domain is.
type Lifecycle struct {
	Phase Phase

	// Expires is the registry's expiration, else the registrar's, zero if the record
	// has neither. A registry that renews a domain at its expiration sends the new date,
	// also while the registrar may still delete it.
	Expires time.Time
	// DateOnly reports that Expires is a day: see [Event].
	DateOnly bool
	// DaysLeft is the number of whole days until Expires. It is negative afterwards: -1
	// on the first day. For a day it counts calendar days in UTC. 0 if Expires is zero.
	DaysLeft int

	// Locks are the statuses that prohibit an operation, in the order of the record.
	Locks []Status
	// OnHold reports that the domain is not in the DNS by a hold of registrar or
	// registry.
	OnHold bool

	// Basis says what Phase follows from: statuses as "status redemption period" and
	// dates as "expiration 2026-12-01T00:00:00Z". It is empty for an active domain
	// without an expiration.
	Basis []string
}

// TransferLocked reports whether a lock prohibits transfers.
func (l Lifecycle) TransferLocked() bool {
	return slices.ContainsFunc(l.Locks, func(s Status) bool { return strings.Contains(string(s), "transfer") })
}

// LifecycleOf returns the stage of a domain at the time now. Statuses decide before
// dates: a registry may renew a domain when it expires, and dates of deleted domains
// stay in the past. The zero Lifecycle is returned for other records and for nil.
func LifecycleOf(rec *Record, now time.Time) Lifecycle {
	if rec == nil || rec.Class != ClassDomain {
		return Lifecycle{}
	}
	var l Lifecycle
	statuses := rec.Statuses()
	for _, s := range statuses {
		switch {
		case strings.HasSuffix(string(s), " prohibited"), s == StatusLocked:
			l.Locks = append(l.Locks, s)
		case s == StatusClientHold, s == StatusServerHold:
			l.OnHold = true
		}
	}
	expires, found := expirationOf(rec)
	if found {
		l.Expires, l.DateOnly = expires.Time, expires.DateOnly
		l.DaysLeft = daysLeft(expires, now)
	}

	has := func(s Status) bool {
		if !slices.Contains(statuses, s) {
			return false
		}
		l.Basis = append(l.Basis, "status "+string(s))
		return true
	}
	switch {
	// Registries keep "pending delete" beside both (RFC 3915 section 3.1).
	case has(StatusRedemptionPeriod), has(StatusPendingRestore):
		l.Phase = PhaseRedemption
	case has(StatusPendingDelete):
		l.Phase = PhasePendingDelete
	case has(StatusAutoRenewPeriod):
		l.Phase = PhaseAutoRenew
	case found && l.DaysLeft < 0:
		l.Phase = PhaseExpired
	default:
		l.Phase = PhaseActive
	}
	if found && len(l.Basis) == 0 {
		l.Basis = []string{strings.ToLower(strings.TrimSpace(expires.Action)) + " " + expires.Raw}
	}
	return l
}

// expirationOf returns the expiration of a domain: the registry's, else the
// registrar's, as [Summary.Expires] does.
func expirationOf(rec *Record) (Event, bool) {
	e, ok := rec.Event(EventExpiration)
	if !ok {
		e, ok = rec.Event(EventRegistrarExpiration)
	}
	if registrar := FindRole(rec.Entities, RoleRegistrar); !ok && registrar != nil {
		e, ok = registrar.Event(EventRegistrarExpiration)
	}
	return e, ok && !e.Time.IsZero()
}

// daysLeft returns the whole days from now to the time of an event, rounded down.
func daysLeft(e Event, now time.Time) int {
	if e.DateOnly {
		now = now.UTC().Truncate(day)
	}
	left := e.Time.Sub(now)
	days := int(left / day)
	if left%day < 0 {
		days--
	}
	return days
}
