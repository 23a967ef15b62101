package client

import "sync/atomic"

// A lineCount counts the inputs of batches for one host: lines, not requests.
type lineCount struct{ read, done, failed atomic.Int64 }

// add counts n inputs that have the same result.
func (c *lineCount) add(n int64, v Verdict) {
	c.done.Add(n)
	if !v.Answered() {
		c.failed.Add(n)
	}
}

func (c *lineCount) report(p *ServerProgress) {
	p.Lines, p.Done, p.Failed = c.read.Load(), c.done.Load(), c.failed.Load()
}
