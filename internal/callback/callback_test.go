package callback

import "testing"

func deep(n int, f func() bool) bool {
	if n == 0 {
		return f()
	}
	return deep(n-1, f)
}

func TestRunning(t *testing.T) {
	if Running() {
		t.Error("running outside Do")
	}
	for _, depth := range []int{0, 1, 100, 1000} {
		Do(func() {
			if !deep(depth, Running) {
				t.Errorf("not running inside Do at depth %d", depth)
			}
			other := make(chan bool)
			go func() { other <- Running() }()
			if <-other {
				t.Error("running in another goroutine")
			}
		})
	}
}
