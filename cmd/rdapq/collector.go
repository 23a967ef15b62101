package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// The heap of a batch is small and its garbage plenty: collecting it four times
// less often costs some megabytes and saves a tenth of the CPU. A large heap,
// which only what servers send can make, is collected more often, so that its
// garbage does not take several times its room.
const (
	rarely    = 400 // percent, as GOGC has it; 100 is Go's default
	smallHeap = 36 << 20
)

// paceCollector sets how often garbage is collected, now and after each time.
func paceCollector() {
	debug.SetGCPercent(rarely)
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	now := rarely
	var arm func()
	adjust := func(struct{}) {
		metrics.Read(live)
		if next := percentFor(live[0].Value.Uint64()); next != now {
			debug.SetGCPercent(next)
			now = next
		}
		arm()
	}
	arm = func() {
		cycle := new(*int) // found unreachable by the next collection
		runtime.AddCleanup(cycle, adjust, struct{}{})
	}
	arm()
}

// percentFor lets the heap grow to smallHeap at least, and to between twice and
// five times what is in use; to one and a half times that where more than
// smallHeap is in use, as with hundreds of connections. It goes in steps, as each
// change stops the program for a moment.
func percentFor(live uint64) int {
	if live > smallHeap {
		return 50
	}
	for percent := rarely; percent > 100; percent -= 100 {
		if live*uint64(100+percent)/100 <= smallHeap {
			return percent
		}
	}
	return 100
}
