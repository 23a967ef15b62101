package client

// A limiter decides how many lookups one server gets at once. A lookup that is
// not admitted waits in its server's queue and holds no worker. The queue calls
// it under its lock, so it must not block.
type limiter interface {
	// admit reports whether one more lookup may start beside those in flight.
	// It is asked again whenever one has ended.
	admit(inFlight int) bool
	// observe learns from a lookup that has ended.
	observe(*Result)
}

// fixedLimit admits so many at once, whatever comes of them.
type fixedLimit int

func (n fixedLimit) admit(inFlight int) bool { return inFlight < int(n) }

func (fixedLimit) observe(*Result) {}
