package client

import (
	"net/http"
)

// maxAvoided limits the connections that the attempts of one query avoid.
const maxAvoided = 4

// A suspecter is a transport that stops using connections with useless responses; see
// [pool.Pool.Suspect].
type suspecter interface {
	Suspect(id int64)
}

// A sessionSuspecter is a transport that resumes TLS sessions; see
// [pool.Pool.SuspectSession].
type sessionSuspecter interface {
	SuspectSession(id int64) bool
}

// faulty reports whether the connection may be the cause of a failure. It may be the cause if
// there was no response, or the response was truncated, or its status is not about the query.
func faulty(r *Result) bool {
	switch e := r.reason(); {
	case e == nil:
		return false
	case r.Status == 0, r.Status/100 == 2:
		switch e.Code {
		case CodeTransport, CodeRefused, CodeTimeout, CodeTLS:
			return true
		}
		return false
	case r.Status == http.StatusNotImplemented:
		return false
	default:
		return r.Status/100 == 5 || r.Status == http.StatusMisdirectedRequest
	}
}
