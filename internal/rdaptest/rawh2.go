package rdaptest

// RawH2 is an HTTP/2 server written frame by frame.
type RawH2 struct{}

func (r *RawH2) serve(c *conn) { c.kill() }
