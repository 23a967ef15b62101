package measure

import (
	"strings"
	"testing"
	"time"
)

func mode(name string, handshakes float64, walls ...float64) Result {
	r := Result{Mode: name, Wall: spread(walls), Full: Spread{handshakes, handshakes, handshakes}}
	for _, w := range walls {
		r.Runs = append(r.Runs, RunSummary{Wall: w})
	}
	return r
}

func TestSpread(t *testing.T) {
	for _, tt := range []struct {
		values []float64
		want   Spread
	}{
		{[]float64{3}, Spread{3, 3, 3}},
		{[]float64{5, 1, 3}, Spread{3, 1, 5}},
		{[]float64{4, 1, 2, 9}, Spread{3, 1, 9}},
		{[]float64{1.0 / 3, 1.0 / 3}, Spread{.33, .33, .33}},
	} {
		if got := spread(tt.values); got != tt.want {
			t.Errorf("%v: %+v, want %+v", tt.values, got, tt.want)
		}
	}
	if (Spread{1, 1, 1}).Varies() || !(Spread{1, 1, 2}).Varies() {
		t.Error("it does not know what varies")
	}
}

// TestSignificance checks that a difference that may be chance is not significant.
func TestSignificance(t *testing.T) {
	unanswered := mode("b", 40, 300, 310, 320)
	unanswered.Unanswered = 1
	for name, tt := range map[string]struct {
		modes    []Result
		claim    bool
		headline string
	}{
		"apart":             {[]Result{mode("a", 2, 100, 110, 120), mode("b", 40, 275, 280, 300)}, true, "a was 2.5 times faster than b: 38 handshakes avoided"},
		"the second":        {[]Result{mode("b", 40, 275, 280, 300), mode("a", 2, 100, 110, 120)}, true, "a was 2.5 times faster than b: 38 handshakes avoided"},
		"one less":          {[]Result{mode("a", 2, 100, 100, 100), mode("b", 3, 130, 130, 130)}, true, "a was 1.3 times faster than b: 1 handshake avoided"},
		"none less":         {[]Result{mode("a", 3, 100, 100, 100), mode("b", 3, 200, 200, 200)}, true, "a was 2 times faster than b"},
		"overlapping":       {[]Result{mode("a", 2, 100, 110, 280), mode("b", 40, 275, 280, 300)}, false, "no significant difference between a and b: their ranges overlap"},
		"touching":          {[]Result{mode("a", 2, 100, 110, 120), mode("b", 40, 120, 130, 140)}, false, "their ranges overlap"},
		"hardly apart":      {[]Result{mode("a", 1, 183, 183, 184), mode("b", 3, 185, 185, 186)}, false, "no significant difference between a and b: they differ by less than 5%"},
		"a little apart":    {[]Result{mode("a", 1, 100, 100, 101), mode("b", 3, 105, 105, 106)}, true, "a was 1.1 times faster than b: 2 handshakes avoided"},
		"too few runs":      {[]Result{mode("a", 2, 100, 110), mode("b", 40, 275, 280)}, false, "need at least 3 runs"},
		"without an answer": {[]Result{mode("a", 2, 100, 110, 120), unanswered}, false, "not all lookups were answered"},
	} {
		c := compare(tt.modes)
		if len(c) != 1 || c[0].Significant != tt.claim || c[0].Mode != "a" || c[0].Than != "b" || (c[0].Why == "") != tt.claim {
			t.Errorf("%s: %+v", name, c)
			continue
		}
		if got := headline(tt.modes, c); !strings.Contains(got, tt.headline) {
			t.Errorf("%s: %q, want %q in it", name, got, tt.headline)
		}
	}
}

func TestHeadlineOfSeveral(t *testing.T) {
	modes := []Result{mode("a", 2, 100, 110, 120), mode("b", 40, 275, 280, 300), mode("c", 2, 115, 118, 121)}
	c := compare(modes)
	if want, got := "a was 2.5 times faster than b: 38 handshakes avoided; no significant difference from c", headline(modes, c); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := c[0].Times; got != (Spread{2.55, 2.29, 3}) {
		t.Errorf("%+v", got)
	}
	one := []Result{mode("a", 2, 100)}
	if got := headline(one, compare(one)); got != "a took 100 ms: 2 handshakes" {
		t.Errorf("%q", got)
	}
	one[0].Unanswered = 18
	if got := headline(one, compare(one)); got != "a: 18 lookups without a response" {
		t.Errorf("%q", got)
	}
	if got := headline(nil, nil); got == "" {
		t.Error("nothing is said of nothing")
	}
}

// TestDistribute checks that all modes have the same bins and that these contain every
// lookup.
func TestDistribute(t *testing.T) {
	modes := make([]Result, 2)
	for i := range 100 {
		modes[0].times.Add(time.Duration(i) * time.Millisecond)
		modes[1].times.Add(time.Duration(280+i) * time.Millisecond)
	}
	distribute(modes)
	for i, m := range modes {
		var n uint64
		for k, b := range m.Distribution {
			n += b.Count
			if b.From != modes[0].Distribution[k].From || b.To-b.From != 20 || k > 0 && b.From != m.Distribution[k-1].To {
				t.Errorf("bin %d of mode %d: %+v", k, i, b)
			}
		}
		if n != 100 || len(m.Distribution) > binCount || m.Distribution[len(m.Distribution)-1].To < 379 {
			t.Errorf("%d in %d bins", n, len(m.Distribution))
		}
	}
	none := make([]Result, 1)
	distribute(none)
	if len(none[0].Distribution) != 1 {
		t.Errorf("%+v", none[0].Distribution)
	}
}
