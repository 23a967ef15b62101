package hashset

import "sync"

// maxStrings limits the elements of a [Strings].
const maxStrings = 4096

// A Strings is a set of strings that forgets some if it has too many. The zero value is empty.
// It is safe for concurrent use.
type Strings struct {
	mu  sync.RWMutex
	all map[string]struct{}
}

// Has reports whether s is in the set.
func (l *Strings) Has(s string) bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	_, ok := l.all[s]
	return ok
}

// Add adds s to the set.
func (l *Strings) Add(s string) {
	if l.Has(s) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all == nil {
		l.all = make(map[string]struct{})
	}
	for other := range l.all {
		if len(l.all) < maxStrings {
			break
		}
		delete(l.all, other)
	}
	l.all[s] = struct{}{}
}
