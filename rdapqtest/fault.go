package rdapqtest

import (
	"net/http"
	"time"

	"github.com/rdapq/rdapq/internal/rdaptest"
)

// A Fault changes the responses of a [Server]. Functions such as [Status] return one.
type Fault struct{ behaviour rdaptest.Behaviour }

// SetFaults applies faults to the requests for a path. A path that ends in "*" stands
// for all that begin with the rest of it, and "*" for all. If several match, the exact
// one applies last; later faults win. A second call with the same path replaces the
// faults of the first, and one without faults removes them.
func (s *Server) SetFaults(path string, faults ...Fault) {
	s.server.On(path, behaviours(faults)...)
}

func behaviours(faults []Fault) []rdaptest.Behaviour {
	list := make([]rdaptest.Behaviour, len(faults))
	for i, f := range faults {
		list[i] = f.behaviour
	}
	return list
}

// Delay delays responses by d.
func Delay(d time.Duration) Fault { return Fault{rdaptest.Latency(d)} }

// Hold delays responses until release is closed, so that a test decides which requests
// are in flight at the same time.
func Hold(release <-chan struct{}) Fault { return Fault{rdaptest.Until(release)} }

// Hang never responds.
func Hang() Fault { return Fault{rdaptest.Hang()} }

// Status responds with a status code and an RDAP error, or, below 300, with the object.
func Status(code int) Fault { return Fault{rdaptest.Status(code)} }

// RateLimit accepts n requests in each interval and refuses the others with 429 and the
// time until the next interval in Retry-After, in whole seconds. An interval starts with
// its first request. With n 0, all requests are refused, and Retry-After is per.
func RateLimit(n int, per time.Duration) Fault { return Fault{rdaptest.Quota(n, per)} }

// Redirect responds with a redirect (302) to a URL.
func Redirect(url string) Fault { return Fault{rdaptest.Redirect(http.StatusFound, url)} }

// Body responds with any body: [NotRDAP] and [MalformedJSON] are examples.
func Body(contentType, body string) Fault { return Fault{rdaptest.Body(contentType, body)} }

// NotRDAP responds with a web page in place of RDAP, as captive portals and load
// balancers do.
func NotRDAP() Fault {
	return Body("text/html; charset=utf-8", "<!DOCTYPE html><title>Welcome</title><p>Please sign in.")
}

// MalformedJSON responds with a body that ends within the object.
func MalformedJSON() Fault {
	return Body("application/rdap+json", `{"objectClassName":"domain","ldhName":"examp`)
}

// TooLarge responds with a domain object of n bytes. The client decompresses and reads
// at most [client.Config.MaxBody] of it.
func TooLarge(n int64) Fault { return Fault{rdaptest.Size(n)} }

// CutBody announces the whole body, sends n bytes of it and ends the connection
// (HTTP/1.1) or the stream (HTTP/2).
func CutBody(n int) Fault { return Fault{rdaptest.Cut(n)} }

// CloseConnection closes the connection in place of a response.
func CloseConnection() Fault { return Fault{rdaptest.HangUp()} }

// First applies faults to its first n requests only.
func First(n int, faults ...Fault) Fault { return Fault{rdaptest.First(n, behaviours(faults)...)} }

// After applies faults to all requests but its first n.
func After(n int, faults ...Fault) Fault { return Fault{rdaptest.After(n, behaviours(faults)...)} }

// Every applies faults to every n-th request.
func Every(n int, faults ...Fault) Fault { return Fault{rdaptest.Every(n, behaviours(faults)...)} }
