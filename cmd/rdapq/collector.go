package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// A batch has a small heap and much garbage. Collecting it a quarter as often costs a few
// megabytes and saves 10% of the CPU time. Only large responses grow the heap. The collector
// then runs more often to limit the heap's size.
const (
	gcPercent   = 400 // value of GOGC; Go's default is 100
	smallMemory = 26 << 20
	largeMemory = 60 << 20
	largeHeap   = 32 << 20
)

// paceCollector sets the GC percentage once, and adapts the memory limit now and after each
// collection. A percentage alone would also apply to memory allocated during a collection,
// which may be large if a server floods a connection.
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
		cycle := new(*int) // the object becomes unreachable before the next collection
		runtime.AddCleanup(cycle, adjust, struct{}{})
	}
	arm()
}

// limitFor returns the memory limit for a heap with live bytes and other bytes outside the
// heap. The limit is at least smallMemory. The heap may grow to twice live while the total is
// at most largeMemory. Beyond that, garbage may take an eighth of live, plus half of the amount
// by which live exceeds largeHeap. The limit changes in steps, because each change stops the
// program briefly.
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
