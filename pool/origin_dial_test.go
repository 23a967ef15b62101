package pool

import "testing"

// Connections that are dialed together share a queue equally, even if the first connection got
// responses before the last one was open.
func TestConcurrentDialsShareQueue(t *testing.T) {
	conns := func(granted, served int, n int) (list []*conn) {
		for range n {
			list = append(list, &conn{granted: granted, served: served})
		}
		return list
	}
	tests := []struct {
		name    string
		conns   []*conn
		dials   int
		waiting int
		want    int
		goesOn  bool
	}{
		{"the first of eight", conns(0, 0, 1), 7, 1000, 125, true},
		{"all are there, stream limits are not", conns(100, 0, 8), 0, 200, 125, true},
		{"the first was answered", append(conns(125, 7, 1), conns(100, 0, 7)...), 0, 175, 125, true},
		{"more came meanwhile", append(conns(125, 7, 1), conns(125, 0, 7)...), 0, 3, 126, true},
		{"all were answered", conns(125, 1, 8), 0, 50, 0, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := &origin{sharing: true, conns: tt.conns, dials: make([]*dial, tt.dials)}
			if got := o.grantLimitLocked(tt.waiting); got != tt.want || o.sharing != tt.goesOn {
				t.Errorf("%d each, goes on %v, want %d, %v", got, o.sharing, tt.want, tt.goesOn)
			}
			if o = (&origin{conns: tt.conns}); o.grantLimitLocked(tt.waiting) != 0 {
				t.Error("bound without siblings")
			}
		})
	}
}
