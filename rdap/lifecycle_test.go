package rdap

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestLifecycleOf(t *testing.T) {
	now := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	at := func(day, hour int) time.Time { return time.Date(2026, 12, day, hour, 0, 0, 0, time.UTC) }
	expires := func(date string) string { return `,"events":[{"eventAction":"expiration","eventDate":"` + date + `"}]` }
	tests := []struct {
		name, members string
		want          Lifecycle
	}{
		{"nothing known", ``, Lifecycle{Phase: PhaseActive}},
		{"active", expires("2026-12-11T18:00:00Z"), Lifecycle{Phase: PhaseActive, Expires: at(11, 18), DaysLeft: 10, Basis: []string{"expiration 2026-12-11T18:00:00Z"}}},
		{"last day", expires("2026-12-01T18:00:00Z"), Lifecycle{Phase: PhaseActive, Expires: at(1, 18), Basis: []string{"expiration 2026-12-01T18:00:00Z"}}},
		{"just expired", expires("2026-12-01T11:00:00Z"), Lifecycle{Phase: PhaseExpired, Expires: at(1, 11), DaysLeft: -1, Basis: []string{"expiration 2026-12-01T11:00:00Z"}}},
		{"a day ago", expires("2026-11-30T12:00:00Z"), Lifecycle{Phase: PhaseExpired, Expires: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC), DaysLeft: -1, Basis: []string{"expiration 2026-11-30T12:00:00Z"}}},
		{"today, as a day", expires("2026-12-01"), Lifecycle{Phase: PhaseActive, Expires: at(1, 0), DateOnly: true, Basis: []string{"expiration 2026-12-01"}}},
		{"tomorrow, as a day", expires("2026-12-02"), Lifecycle{Phase: PhaseActive, Expires: at(2, 0), DateOnly: true, DaysLeft: 1, Basis: []string{"expiration 2026-12-02"}}},
		{"yesterday, as a day", expires("2026-11-30"), Lifecycle{Phase: PhaseExpired, Expires: time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC), DateOnly: true, DaysLeft: -1, Basis: []string{"expiration 2026-11-30"}}},
		{"unrecognized date", expires("soon"), Lifecycle{Phase: PhaseActive}},
		{"auto renew", `,"status":["autoRenewPeriod","ok"]` + expires("2026-12-11T18:00:00Z"), Lifecycle{Phase: PhaseAutoRenew, Expires: at(11, 18), DaysLeft: 10, Basis: []string{"status auto renew period"}}},
		{"redemption", `,"status":["pending delete","redemption period"]` + expires("2026-11-30T12:00:00Z"), Lifecycle{Phase: PhaseRedemption, Expires: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC), DaysLeft: -1, Basis: []string{"status redemption period"}}},
		{"restore requested", `,"status":["pending restore","pending delete"]`, Lifecycle{Phase: PhaseRedemption, Basis: []string{"status pending restore"}}},
		{"pending delete", `,"status":["pendingDelete"]`, Lifecycle{Phase: PhasePendingDelete, Basis: []string{"status pending delete"}}},
		{"locks", `,"status":["client transfer prohibited","server delete prohibited","locked","client hold"]`, Lifecycle{
			Phase: PhaseActive, OnHold: true, Locks: []Status{StatusClientTransferProhibited, StatusServerDeleteProhibited, StatusLocked},
		}},
		{
			"expiration from the registrar", `,"entities":[{"roles":["registrar"],"events":[{"eventAction":"registrar expiration","eventDate":"2026-12-11T18:00:00Z"}]}]`,
			Lifecycle{Phase: PhaseActive, Expires: at(11, 18), DaysLeft: 10, Basis: []string{"registrar expiration 2026-12-11T18:00:00Z"}},
		},
		{
			"the registry's expiration counts", `,"events":[{"eventAction":"registrar expiration","eventDate":"2026-11-11T18:00:00Z"},{"eventAction":"expiration","eventDate":"2026-12-11T18:00:00Z"}]`,
			Lifecycle{Phase: PhaseActive, Expires: at(11, 18), DaysLeft: 10, Basis: []string{"expiration 2026-12-11T18:00:00Z"}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := LifecycleOf(record(t, `{"objectClassName":"domain","ldhName":"a.example"`+tt.members+`}`), now)
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
}

func TestLifecycleOfOthers(t *testing.T) {
	for _, rec := range []*Record{nil, {}, {Class: ClassIPNetwork}, {Class: ClassError}} {
		if got := LifecycleOf(rec, time.Now()); !cmp.Equal(got, Lifecycle{}) {
			t.Errorf("%+v: %+v", rec, got)
		}
	}
}

func TestTransferLocked(t *testing.T) {
	for status, want := range map[Status]bool{
		StatusClientTransferProhibited: true, StatusServerTransferProhibited: true, StatusTransferProhibited: true,
		StatusClientDeleteProhibited: false, StatusActive: false, StatusPendingTransfer: false,
	} {
		rec := &Record{Class: ClassDomain, Common: Common{Status: []string{string(status)}}}
		if got := LifecycleOf(rec, time.Now()).TransferLocked(); got != want {
			t.Errorf("%s: %v, want %v", status, got, want)
		}
	}
}
