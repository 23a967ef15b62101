package rdaptest

import "net/http"

// SetAltSvc sets the Alt-Svc field (RFC 7838) of responses over TCP; empty removes it.
func (s *Server) SetAltSvc(value string) { s.altSvc.Store(&value) }

func (s *Server) writeAltSvc(h http.Header) {
	if v := s.altSvc.Load(); v != nil && *v != "" {
		h["Alt-Svc"] = []string{*v}
	}
}
