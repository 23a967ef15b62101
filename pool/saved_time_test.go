package pool

import (
	"testing"
	"time"
)

// play replays requests in a model. A request has a start, a time when it was sent, an end, and
// the set-up time of its connection.
func play(requests []played) *timeModel {
	s := new(timeModel)
	type change struct {
		at    time.Duration
		begin bool
		of    played
	}
	var all []change
	for _, r := range requests {
		all = append(all, change{r.from, true, r}, change{r.to, false, r})
	}
	epoch := time.Unix(1_800_000_000, 0)
	for len(all) > 0 {
		first := 0
		for i, c := range all {
			// Requests that end free their slots before other requests begin.
			if c.at < all[first].at || c.at == all[first].at && !c.begin && all[first].begin {
				first = i
			}
		}
		c := all[first]
		all = append(all[:first], all[first+1:]...)
		if at := epoch.Add(c.at); c.begin {
			s.begin(at)
		} else {
			s.end(epoch.Add(c.of.sent), at, c.of.setup, c.of.reused)
		}
	}
	return s
}

type played struct {
	from, sent, to, setup time.Duration
	reused                bool
}

// TestSavedByModel checks runs whose time without reuse is obvious.
func TestSavedByModel(t *testing.T) {
	const ms = time.Millisecond
	var one, three, many []played
	for i := range time.Duration(3) { // one at a time, which take 270, 90 and 90 ms
		from := i * 90 * ms
		if i > 0 {
			from += 180 * ms
		}
		sent := from
		if i == 0 {
			sent += 180 * ms
		}
		one = append(one, played{from, sent, sent + 90*ms, 180 * ms, i > 0})
		three = append(three, played{0, 180 * ms, 270 * ms, 180 * ms, i > 0}) // three concurrent requests
	}
	// four at a time for 250 rounds, which is more than the number of samples
	for lane := range time.Duration(4) {
		for i := range time.Duration(250) {
			from := i * 90 * ms
			if i > 0 {
				from += 180 * ms
			}
			sent := from
			if i == 0 {
				sent += 180 * ms
			}
			many = append(many, played{from, sent, sent + 90*ms, 180 * ms, i > 0 || lane > 0})
		}
	}
	for what, tt := range map[string]struct {
		requests []played
		saved    time.Duration
		exact    bool
	}{
		"one at a time": {one, 360 * ms, true},
		"side by side":  {three, 0, true},
		"many":          {many, 249 * 180 * ms, false},
	} {
		m := play(tt.requests).model(1 << 30)
		off := (m.saved - tt.saved).Abs()
		if tt.exact && off > 0 || off > tt.saved/100 {
			t.Errorf("%s: saved %v, want %v", what, m.saved, tt.saved)
		}
		var sum savedSum
		sum.add(&m)
		if saved, why := sum.of(&m); saved != m.saved || why != "" {
			t.Errorf("%s: %v (%s) in all, want %v", what, saved, why, m.saved)
		}
	}
}

// No time is reported if the model is not valid.
func TestSavedUnknown(t *testing.T) {
	const ms = time.Millisecond
	var uneven []played // ten concurrent requests, then ten one after another
	for i := range time.Duration(10) {
		uneven = append(uneven, played{0, 180 * ms, 270 * ms, 180 * ms, i > 0}, played{(270 + i*90) * ms, (270 + i*90) * ms, (360 + i*90) * ms, 180 * ms, true})
	}
	for what, tt := range map[string]struct {
		change func(*timeModel)
		want   SavedUnknown
	}{
		"uneven":    {func(*timeModel) {}, SavedUnbound},
		"429":       {func(s *timeModel) { s.respond(429) }, SavedThrottled},
		"503":       {func(s *timeModel) { s.respond(503) }, SavedThrottled},
		"500":       {func(s *timeModel) { s.respond(500) }, SavedBroke},
		"no answer": {func(s *timeModel) { s.endFailed(time.Now()) }, SavedBroke},
		"404":       {func(s *timeModel) { s.respond(404) }, SavedUnbound},
	} {
		s := play(uneven)
		tt.change(s)
		m := s.model(1 << 30)
		var sum savedSum
		sum.add(&m)
		if saved, why := sum.of(&m); saved != 0 || why != tt.want {
			t.Errorf("%s: %v (%q), want %q", what, saved, why, tt.want)
		}
	}
}
