package rdap

import (
	"slices"
	"strings"
	"time"
)

// A Phase is a stage in the life of a domain. If EPP has a grace period for the phase (RFC
// 3915), the phase has that name.
type Phase string

// Phases of a domain. The zero value is used for records that are not of a domain.
const (
	PhaseActive  Phase = "active"  // the domain is registered, and not in any phase below
	PhaseExpired Phase = "expired" // the domain is past its expiration date
	// the registry has renewed the domain; the registrar may still delete it without cost
	PhaseAutoRenew  Phase = "auto renew"
	PhaseRedemption Phase = "redemption" // the domain is deleted, but its registrar can restore it
	// the domain is deleted, can no longer be restored, and becomes available within days
	PhasePendingDelete Phase = "pending delete"
)

// A Lifecycle describes the stage of a domain's life.
type Lifecycle struct {
	Phase Phase

	// Expires is the expiration that the registry sent, else the registrar's. It is zero if the
	// record has neither. A registry that renews a domain at its expiration sends the new date,
	// also while the registrar may still delete it.
	Expires time.Time
	// DateOnly reports that Expires is a day without a time; see [Event].
	DateOnly bool
	// DaysLeft is the number of whole days until Expires, and negative afterwards: -1 on the
	// first day. If DateOnly is set, DaysLeft counts calendar days in UTC. It is 0 if Expires
	// is zero.
	DaysLeft int

	// Locks lists the statuses that prohibit an operation, in the order of the record.
	Locks []Status
	// OnHold reports that the domain is not in the DNS by a hold of registrar or
	// registry.
	OnHold bool

	// Basis lists the reasons for Phase: statuses such as "status redemption period" and dates
	// such as "expiration 2026-12-01T00:00:00Z". It is empty for an active domain without an
	// expiration.
	Basis []string
}

// TransferLocked reports whether a lock prohibits transfers.
func (l Lifecycle) TransferLocked() bool {
	return slices.ContainsFunc(l.Locks, func(s Status) bool { return strings.Contains(string(s), "transfer") })
}

// LifecycleOf returns the stage of a domain at the time now. Statuses decide before dates: a
// registry may renew a domain when it expires, and dates of deleted domains stay in the past.
// For other records and for nil, LifecycleOf returns the zero Lifecycle.
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
	// Registries keep "pending delete" beside both statuses (RFC 3915 section 3.1).
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

// expirationOf returns the expiration of a domain from the registry, else from the registrar, as
// for [Summary.Expires].
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
