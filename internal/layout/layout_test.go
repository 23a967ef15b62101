// Package layout restricts the imports of the packages of this module.
package layout

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/rdapq/rdapq"

// model is the third-party module that adds 4 MB to a program.
const model = "github.com/openrdap/rdap"

// allowed lists the packages of this module that each package may import outside of tests.
// Commands and packages below cmd, bench and interop may import all packages.
var allowed = map[string][]string{
	"rdap":      {"rdap/internal/jsonscan", "internal/safetext", "internal/dnsname", "internal/languagetag"},
	"openrdap":  {"rdap"},
	"limit":     {"internal/statefile"},
	"bootstrap": {"bootstrap/internal/ianafile", "internal/statefile", "internal/weburl", "internal/publicaddr", "internal/callback"},
	"pool":      {"internal/statefile", "internal/publicaddr", "internal/callback"},
	"client": {
		"rdap", "limit", "bootstrap", "pool", "internal/gate", "internal/safetext", "internal/dnsname", "internal/weburl", "internal/secret",
		"internal/attemptclock", "internal/auth", "internal/repanic", "internal/inuse", "internal/fifo", "internal/registrable", "internal/pastetext", "internal/content", "internal/publicaddr", "internal/hashset", "internal/helpcache", "internal/httpcache", "internal/merge", "internal/neterror", "internal/rdaplink", "internal/registrars", "internal/reqtrace", "internal/spill", "internal/unshared", "internal/callback",
	},

	"rdapqtest": {"client", "bootstrap", "pool", "internal/rdaptest"},

	"bootstrap/internal/ianafile": {},
	"rdap/internal/jsonscan":      {},

	"internal/auth":     {"pool", "internal/secret", "internal/weburl"}, // a request with a credential needs a connection without early data
	"internal/callback": {},
	"internal/content":  {"pool", "internal/safetext"}, // content reads the errors of a pool
	"internal/dnsname":  {"internal/safetext"},
	// gate finds hosts by URL, and calls stores, which are user code
	"internal/gate":       {"limit", "internal/weburl", "internal/callback"},
	"internal/hashset":    {},
	"internal/helpcache":  {"rdap"},
	"internal/histogram":  {},
	"internal/httpcache":  {"internal/weburl"},
	"internal/input":      {},
	"journal":             {"internal/order", "internal/statefile"},
	"internal/layout":     {},
	"internal/measure":    {"client", "pool", "internal/render", "internal/histogram", "internal/timing", "internal/unshared"},
	"internal/merge":      {"rdap"},
	"internal/namespace":  {},
	"internal/neterror":   {"internal/safetext"},
	"internal/order":      {},
	"internal/publicaddr": {},
	"internal/registrars": {},
	"internal/reqtrace":   {"pool"}, // reqtrace records the steps that a pool reports
	"internal/rdaplink":   {"rdap", "bootstrap", "internal/content", "internal/dnsname", "internal/weburl"},
	"internal/rdaptest":   {}, // rdaptest imports nothing, so that all tests may use it
	"internal/render":     {"client", "rdap", "limit", "bootstrap", "pool", "internal/safetext", "internal/dnsname", "internal/languagetag", "internal/weburl", "internal/histogram", "internal/timing"},
	"internal/report":     {"internal/measure", "internal/render"},
	"internal/safetext":   {},
	"internal/secret":     {},
	"internal/spill":      {},
	"internal/statefile":  {},
	"internal/testrun":    {},
	"internal/timing":     {"pool"}, // timing reads traces
	"internal/unshared":   {},
	"internal/weburl":     {"internal/secret"},

	"internal/attemptclock": {},
	"internal/languagetag":  {},
	"internal/repanic":      {},
	"internal/inuse":        {},
	"internal/fifo":         {},
	"internal/registrable":  {},
	"internal/pastetext":    {},
}

func goList(t *testing.T, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"list"}, args...)...)
	cmd.Dir = "../.."
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	return out
}

// TestImports compares the imports of all packages with the table. Only package openrdap may
// import the third-party model.
func TestImports(t *testing.T) {
	dec := json.NewDecoder(bytes.NewReader(goList(t, "-json=ImportPath,Imports,Name", "./...")))
	seen := make(map[string]bool)
	for {
		var p struct {
			ImportPath, Name string
			Imports          []string
		}
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		path := strings.TrimPrefix(p.ImportPath, module+"/")
		if path != "openrdap" && slices.Contains(p.Imports, model) {
			t.Errorf("%s imports %s: only package openrdap may", path, model)
		}
		if p.Name == "main" || path == "interop" || path == "docs" {
			continue
		}
		list, ok := allowed[path]
		if !ok {
			t.Errorf("%s is not in the table", path)
			continue
		}
		seen[path] = true
		for _, imported := range p.Imports {
			if ours, ok := strings.CutPrefix(imported, module+"/"); ok && !slices.Contains(list, ours) {
				t.Errorf("%s may not import %s", path, ours)
			}
		}
	}
	for path := range allowed {
		if !seen[path] {
			t.Errorf("%s is in the table and does not exist", path)
		}
	}
}

// Package rdap does not depend on the network, and package client does not depend on the
// third-party model.
func TestDependencies(t *testing.T) {
	for path, forbidden := range map[string][]string{
		"rdap": {
			"net", "net/http", "crypto/tls", module + "/client", module + "/pool", module + "/bootstrap",
		},
		"client": {model, "github.com/alecthomas/kingpin/v2", "github.com/mitchellh/go-homedir"},
	} {
		deps := strings.Fields(string(goList(t, "-deps", "./"+path)))
		for _, one := range forbidden {
			if slices.Contains(deps, one) {
				t.Errorf("%s depends on %s", path, one)
			}
		}
	}
}
