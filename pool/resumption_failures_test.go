package pool

import (
	"crypto/tls"
	"testing"
	"testing/synctest"
	"time"
)

func TestResumptionFailures(t *testing.T) {
	one, two, three := new(tls.ClientSessionState), new(tls.ClientSessionState), new(tls.ClientSessionState)
	synctest.Test(t, func(t *testing.T) {
		var r resumptionFailures
		for range 8 { // eight concurrent dials
			r.count(one)
		}
		if r.backingOff() {
			t.Error("one session that failed is enough")
		}
		r.resumed()
		r.count(two)
		if r.backingOff() {
			t.Error("two that failed, but not in a row, are enough")
		}
		r.count(three)
		if !r.backingOff() {
			t.Error("two in a row are not enough")
		}
		time.Sleep(resumptionBackoff + 1)
		if r.backingOff() {
			t.Error("sessions are never offered again")
		}
	})
}
