package rdapqtest

import (
	"net/http"
	"time"

	"github.com/rdapq/rdapq/internal/rdaptest"
)

// A Fault changes the responses of a [Server]. Functions such as [Status] return one.
type Fault struct{ behaviour rdaptest.Behaviour }

// SetFaults applies faults to the requests for a path. If the path ends in "*", SetFaults
// applies them to the requests for all paths that begin with the text before the "*". If
// several paths match a request, the faults of the exact path apply last. A later fault
// replaces the effect of an earlier fault. A second call with the same path replaces the faults
// of the first call; without faults, it removes them.
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

// Hold delays responses until release is closed. The test thus decides which requests are in
// flight at the same time.
func Hold(release <-chan struct{}) Fault { return Fault{rdaptest.Until(release)} }

// Hang never responds.
func Hang() Fault { return Fault{rdaptest.Hang()} }

// Status responds with a status code. The body is an RDAP error or, for codes below 300, the
// object.
func Status(code int) Fault { return Fault{rdaptest.Status(code)} }

// RateLimit accepts n requests in each interval and refuses further requests with 429.
// Retry-After states the whole seconds until the next interval. An interval starts with its
// first request. If n is 0, RateLimit refuses all requests, and Retry-After is per.
func RateLimit(n int, per time.Duration) Fault { return Fault{rdaptest.Quota(n, per)} }

// Redirect responds with a redirect (302) to a URL.
func Redirect(url string) Fault { return Fault{rdaptest.Redirect(http.StatusFound, url)} }

// Body responds with a body of any type. See also [NotRDAP] and [MalformedJSON].
func Body(contentType, body string) Fault { return Fault{rdaptest.Body(contentType, body)} }

// NotRDAP responds with a web page in place of an RDAP object, as captive portals and load
// balancers do.
func NotRDAP() Fault {
	return Body("text/html; charset=utf-8", "<!DOCTYPE html><title>Welcome</title><p>Please sign in.")
}

// MalformedJSON responds with a body that ends within the object.
func MalformedJSON() Fault {
	return Body("application/rdap+json", `{"objectClassName":"domain","ldhName":"examp`)
}

// TooLarge responds with a domain object of n bytes. The client reads at most
// [client.Config.MaxBody] bytes of the decompressed object.
func TooLarge(n int64) Fault { return Fault{rdaptest.Size(n)} }

// CutBody announces the whole body but sends only n bytes. CutBody then ends the connection
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
