package rdaptest

import "net/http"

// SetAltSvc sets the Alt-Svc field (RFC 7838) of responses over TCP; an empty value removes the
// field.
func (s *Server) SetAltSvc(value string) { s.altSvc.Store(&value) }

func (s *Server) writeAltSvc(h http.Header) {
	if v := s.altSvc.Load(); v != nil && *v != "" {
		h["Alt-Svc"] = []string{*v}
	}
}
