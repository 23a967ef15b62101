package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/rdap"
)

// pause is the time after a registration or a transfer in which registrars of generic
// top-level domains may refuse another transfer (ICANN Transfer Policy, I.A.3.8).
const pause = 60 * 24 * time.Hour

// A verdict is what prevents the transfer of a domain.
type verdict struct {
	registrar string    // current registrar
	obstacles []string  // what prevents it; empty if nothing does
	until     time.Time // when the last obstacle that ends by itself has ended; zero without one
}

func (v verdict) possible() bool { return len(v.obstacles) == 0 }

func (v verdict) String() string {
	at := ""
	if v.registrar != "" {
		at = " from " + v.registrar
	}
	if v.possible() {
		return "can be transferred" + at
	}
	text := "cannot be transferred" + at + ": " + strings.Join(v.obstacles, ", ")
	if !v.until.IsZero() {
		text += fmt.Sprintf(" (until %s)", v.until.UTC().Format(time.DateOnly))
	}
	return text
}

var errNotRegistered = errors.New("not registered")

// judge returns the verdict about a domain. An error is not a statement about it, except
// errNotRegistered.
func judge(r *client.Result, now time.Time) (verdict, error) {
	if err := r.Err(); err != nil {
		return verdict{}, err
	}
	if r.Verdict == client.VerdictNotFound {
		return verdict{}, errNotRegistered
	}
	record, err := r.Record()
	if err != nil {
		return verdict{}, err
	}
	if record.Class != rdap.ClassDomain {
		return verdict{}, fmt.Errorf("%s is not a domain", r.Query)
	}
	return judgeRecord(record, now), nil
}

func judgeRecord(record *rdap.Record, now time.Time) verdict {
	var v verdict
	if registrar := rdap.FindRole(record.Entities, rdap.RoleRegistrar); registrar != nil {
		v.registrar = registrar.Contact().Name
	}
	life := rdap.LifecycleOf(record, now)
	for _, s := range life.Locks {
		if strings.Contains(string(s), "transfer") {
			v.obstacles = append(v.obstacles, s.EPP())
		}
	}
	switch life.Phase {
	case rdap.PhaseRedemption, rdap.PhasePendingDelete:
		v.obstacles = append(v.obstacles, string(life.Phase))
	}
	for _, action := range []rdap.EventAction{rdap.EventRegistration, rdap.EventTransfer} {
		e, ok := record.Event(action)
		if !ok || e.Time.IsZero() {
			continue
		}
		if end := e.Time.Add(pause); now.Before(end) {
			v.obstacles = append(v.obstacles, fmt.Sprintf("%s on %s", action, e.Time.UTC().Format(time.DateOnly)))
			if v.until.Before(end) {
				v.until = end
			}
		}
	}
	return v
}
