// Package fifo has a queue.
package fifo

// A Queue is a queue of values: first in, first out. The zero value is empty. It reuses the
// memory of removed values.
type Queue[T any] struct {
	items []T
	head  int
}

// Len returns the number of values.
func (q *Queue[T]) Len() int { return len(q.items) - q.head }

// Push adds a value at the end.
func (q *Queue[T]) Push(v T) {
	if q.head > 0 && len(q.items) == cap(q.items) {
		n := copy(q.items, q.items[q.head:])
		clear(q.items[n:])
		q.items, q.head = q.items[:n], 0
	}
	q.items = append(q.items, v)
}

// Pop removes and returns the first value. The queue must not be empty.
func (q *Queue[T]) Pop() T {
	v := q.items[q.head]
	clear(q.items[q.head : q.head+1])
	if q.head++; q.head == len(q.items) {
		q.items, q.head = q.items[:0], 0
	}
	return v
}

// CutTail removes and returns all values but the first n. They are valid until the next Push.
func (q *Queue[T]) CutTail(n int) []T {
	tail := q.items[q.head+n:]
	q.items = q.items[:q.head+n]
	return tail
}
