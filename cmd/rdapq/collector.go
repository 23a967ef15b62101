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
	gcPercent   = 400 // percent, as GOGC has it; 100 is Go's default
	smallMemory = 26 << 20
	largeMemory = 60 << 20
	largeHeap   = 32 << 20
)

// paceCollector sets how often garbage is collected, now and after each time. It
// raises a limit on memory for what is in use, and does not lower the percentage: what
// is allocated during a collection counts as in use, which is much when a server
// floods a connection on a busy machine, and the percentage applies to that at once.
func paceCollector() {
	debug.SetGCPercent(gcPercent)
	limit := uint64(smallMemory)
	debug.SetMemoryLimit(int64(limit))
	heap := []metrics.Sample{
		{Name: "/gc/heap/live:bytes"},
		{Name: "/memory/classes/total:bytes"},
		{Name: "/memory/classes/heap/released:bytes"},
		{Name: "/memory/classes/heap/free:bytes"},
		{Name: "/memory/classes/heap/objects:bytes"},
	}
	var arm func()
	adjust := func(struct{}) {
		metrics.Read(heap)
		value := func(i int) uint64 { return heap[i].Value.Uint64() }
		other := value(1) - value(2) - value(3) - value(4)
		if next := limitFor(value(0), other); next != limit {
			debug.SetMemoryLimit(int64(next))
			limit = next
		}
		arm()
	}
	arm = func() {
		cycle := new(*int) // found unreachable by the next collection
		runtime.AddCleanup(cycle, adjust, struct{}{})
	}
	arm()
}

// limitFor lets memory grow to smallMemory at least. Beyond that the heap may grow to
// twice what is live while that and the memory outside of the heap, other, are no more
// than largeMemory. More is in use with thousands of hosts: then garbage may take an
// eighth of what is live, and where what is live is larger than largeHeap, half of the
// excess. It goes in steps, as each change stops the program for a moment.
func limitFor(live, other uint64) uint64 {
	const step = 2 << 20
	limit := 2*live + other
	if limit > largeMemory {
		garbage := live / 8
		if live > largeHeap {
			garbage += (live - largeHeap) / 2
		}
		limit = min(limit, max(largeMemory, live+garbage+other))
	}
	return max(smallMemory, (limit+step-1)/step*step)
}
