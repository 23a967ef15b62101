package rdaptest

import (
	"io/fs"
	"net/http"
	"strconv"
	"strings"
)

// A FileAnswer describes how a body from a file is served.
type FileAnswer struct {
	Status int    // status code; 0 means 200
	Type   string // media type; empty means application/rdap+json
}

// Dir returns a [Config].Handler that serves each file of a directory as a separate RDAP server
// with that response to every query. The base URL for a file is Server.URL() + name + "/".
// Files not in answers get the zero FileAnswer.
func Dir(dir fs.FS, answers map[string]FileAnswer) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		body, err := fs.ReadFile(dir, name)
		if err != nil {
			http.NotFound(w, r)
			return
		}
		a := answers[name]
		if a.Status == 0 {
			a.Status = http.StatusOK
		}
		if a.Type == "" {
			a.Type = rdapType
		}
		w.Header().Set("Content-Type", a.Type)
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		w.WriteHeader(a.Status)
		if r.Method != http.MethodHead {
			w.Write(body)
		}
	})
}
