package main

import (
	"slices"
	"testing"
	"time"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/limit"
)

func TestHoldText(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	for want, h := range map[string]client.Hold{
		"rdap.example limits requests (HTTP status 429): sending 60 requests per 1m; next request in 59.0 s":    {Server: "rdap.example", Reason: client.HoldLimit, Status: 429, Rate: limit.Rate{N: 60, Per: time.Minute}, Until: now.Add(59 * time.Second)},
		"rdap.example fails or does not respond: its lines are retried when it recovers; next request in 1.0 s": {Server: "rdap.example", Reason: client.HoldOutage, Until: now.Add(time.Second)},
		"rdap.example rejects every request with a non-RDAP response (HTTP status 403): its lines wait":         {Server: "rdap.example", Reason: client.HoldBlocked, Status: 403},
	} {
		if got := holdText(h, now); got != want {
			t.Errorf("%q\nwant %q", got, want)
		}
	}
	got := heldLines([]client.ServerProgress{
		{Server: "a.example"},
		{Server: "b.example", Held: client.HoldOutage},
		{Server: "c.example", Held: client.HoldLimit, Refused: 9, Rate: limit.Rate{N: 10, Per: 3 * time.Second}},
	})
	want := []string{
		"held back: c.example, 9 requests refused by its rate limit, limit 10 requests per 3s",
		"held back: b.example, failed or did not respond for a while",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
}
