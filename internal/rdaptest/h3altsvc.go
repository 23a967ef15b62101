package rdaptest

import "net/http"

// SetAltSvc makes answers over TCP carry an Alt-Svc field (RFC 7838); empty
// ends that.
func (s *Server) SetAltSvc(value string) { s.altSvc.Store(&value) }

func (s *Server) writeAltSvc(h http.Header) {
	if v := s.altSvc.Load(); v != nil && *v != "" {
		h["Alt-Svc"] = []string{*v}
	}
}
