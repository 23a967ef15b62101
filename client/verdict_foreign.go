package client

import (
	"bytes"
	"slices"
	"sync"

	"github.com/rdapq/rdapq/bootstrap"
	"github.com/rdapq/rdapq/rdap"
)

// warnForeign is the warning of a 404 that is not RDAP and still counts as one about
// the object. It begins with a stable word.
const warnForeign = "not_found_without_rdap: the response with status 404 is not RDAP"

// saysRDAP reports whether a response is recognizably from an RDAP server: by its
// body, or by its media type.
func saysRDAP(a response, resp *rdap.Response) bool {
	raw := bytes.TrimSpace(withoutBOM(a.raw))
	if mediaType(a.contentType) == "application/rdap+json" && (len(raw) == 0 || raw[0] == '{') {
		return true
	}
	if resp == nil || !resp.IsExact() {
		return false
	}
	_, err := resp.Class()
	return err == nil || resp.HasConformance()
}

// judgeForeign decides what a 404 that is not RDAP means. A server that the user
// named may have another base URL, so its 404 is not about the object unless the
// server has sent RDAP before. Other servers are responsible for the object.
func (r *Result) judgeForeign404(e *Error, what string, a response, speaks bool) string {
	switch r.Source {
	case bootstrap.SourceServer, bootstrap.SourceOverride:
		if !speaks {
			e.Code = CodeNotRDAP
			e.Hint = "no response of this server was RDAP; is the base URL right?"
			return "the response is not RDAP"
		}
	case bootstrap.SourceIANA, bootstrap.SourceSnapshot:
		if len(a.raw) == 0 && a.cut == "" {
			return what // registries do that
		}
	}
	if len(a.raw) > 0 || a.cut != "" || !speaks {
		r.warn(WarnNotFoundWithoutRDAP, warnForeign)
		return "not found, by a response that is not RDAP"
	}
	return what
}

// IsNotFoundWithoutRDAP reports whether a result is not_found because of a response
// that was not RDAP, as a warning says.
func (r *Result) IsNotFoundWithoutRDAP() bool {
	return r.Verdict == NotFound && slices.ContainsFunc(r.Warnings, func(w Warning) bool { return w.Code == WarnNotFoundWithoutRDAP })
}

// maxSpeakers bounds the servers that are known to send RDAP.
const maxSpeakers = 4096

// speakers are the base URLs of servers that have sent an RDAP response.
type speakers struct {
	mu    sync.RWMutex
	bases map[string]struct{}
}

func (s *speakers) has(base string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	_, ok := s.bases[base]
	return ok
}

func (s *speakers) add(base string) {
	if s.has(base) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bases == nil {
		s.bases = make(map[string]struct{})
	}
	for other := range s.bases {
		if len(s.bases) < maxSpeakers {
			break
		}
		delete(s.bases, other)
	}
	s.bases[base] = struct{}{}
}
