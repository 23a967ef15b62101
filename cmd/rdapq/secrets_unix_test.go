//go:build unix

package main

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rdapq/rdapq/internal/rdaptest"
)

const testKey = "k3y-that/nobody+sees"

// An echoing server repeats the received data in links, remarks and errors, and in the path and
// query of redirects to other.
type echoing struct{ other string }

func (e echoing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	if key == "" {
		key = r.URL.Query().Get("apikey")
	}
	name := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	escaped := strings.NewReplacer("/", "%2F", "+", "%2B").Replace(key)
	switch {
	case strings.HasPrefix(name, "moved"):
		http.Redirect(w, r, e.other+escaped+"/domain/"+name, http.StatusFound)
		return
	case strings.HasPrefix(name, "around"):
		http.Redirect(w, r, "/"+escaped+"/domain/there.example", http.StatusFound)
		return
	case strings.HasPrefix(name, "refused"):
		w.Header().Set("Content-Type", "application/rdap+json")
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprintf(w, `{"errorCode":403,"title":"no","description":["the key %s is not valid"]}`, key)
		return
	}
	unicode := fmt.Sprintf(`\u%04x`, key[0]) + key[1:]
	w.Header().Set("Content-Type", "application/rdap+json")
	fmt.Fprintf(w, `{"objectClassName":"domain","ldhName":%q,"handle":"H-%s","remarks":[{"title":"key %s","description":["%s"]}],
		"links":[{"rel":"self","href":"https://rdap.example/%s?apikey=%s"},{"rel":"related","type":"application/rdap+json","href":"%s%s/domain/%s"}]}`,
		name, unicode, key, strings.ReplaceAll(key, "/", `\/`), escaped, escaped, e.other, escaped, name)
}

// A secret appears in no output, whatever a server does with the secret, and is sent to no
// other server.
func TestSecretsNotPrinted(t *testing.T) {
	t.Parallel()
	ca, err := rdaptest.NewCA()
	if err != nil {
		t.Fatal(err)
	}
	caFile := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(caFile, ca.PEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	other := rdaptest.Start(t, rdaptest.Config{CA: ca, Log: true})
	s := rdaptest.Start(t, rdaptest.Config{CA: ca, Handler: echoing{other.URL()}})
	base := strings.TrimSuffix(s.URL(), "/")
	escaped := strings.NewReplacer("/", "%2F", "+", "%2B").Replace(testKey)
	for _, given := range []struct{ name, server, credentials string }{
		{"in --server", s.URL() + "?apikey=" + escaped, ""},
		{"bearer token", s.URL(), base + " bearer " + testKey},
		{"API key", s.URL(), base + " apikey apikey=" + testKey},
	} {
		for _, format := range []string{"ndjson", "csv", "json", "text", "table", "check", "raw"} {
			how := []string{"--format", format}
			if format == "raw" {
				how = []string{"--raw"}
			}
			for _, name := range []string{"echo.example", "moved.example", "around.example", "refused.example"} {
				cmd, stderr := command(t, append(how, "-s", given.server, "--ca", caFile, "-vv", "--registrar", name)...)
				if _, shown := showsRegistrar(format, nil); !shown {
					cmd.Args = deleteArg(cmd.Args, "--registrar")
				}
				cmd.Env = append(cmd.Env, credentialsVariable+"="+given.credentials)
				var out bytes.Buffer
				cmd.Stdout = &out
				_ = cmd.Run() // some runs fail, as expected
				all := out.String() + stderr.String()
				for _, form := range []string{testKey, escaped, strings.ReplaceAll(testKey, "/", `\/`), testKey[1:]} {
					if strings.Contains(all, form) {
						t.Errorf("%s, %s, %s: the key is printed:\n%s", given.name, format, name, all)
						break
					}
				}
				if format == "ndjson" && name == "echo.example" && !strings.Contains(all, redactedSecret) {
					t.Errorf("%s: no warning: %s", given.name, all)
				}
			}
		}
	}
	for _, e := range other.Log() {
		t.Errorf("the other server got %s", e.URI)
	}
}

func deleteArg(args []string, arg string) []string {
	var kept []string
	for _, a := range args {
		if a != arg {
			kept = append(kept, a)
		}
	}
	return kept
}

// The sidecar of an output contains no secret, but detects a changed secret.
func TestSidecarWithoutSecrets(t *testing.T) {
	ca, err := rdaptest.NewCA()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	caFile, names, out := filepath.Join(dir, "ca.pem"), filepath.Join(dir, "names"), filepath.Join(dir, "out.ndjson")
	for path, data := range map[string]string{caFile: string(ca.PEM()), names: "a.example\nb.example\n"} {
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := rdaptest.Start(t, rdaptest.Config{CA: ca})
	run := func(key string) (code int, stderr string) {
		cmd, b := command(t, "-f", names, "-o", out, "--ca", caFile, "-s", s.URL()+"?apikey="+key)
		_ = cmd.Run() // the exit code is checked below
		return cmd.ProcessState.ExitCode(), b.String()
	}
	if code, stderr := run("secret-number-one"); code != 0 {
		t.Fatalf("%d: %s", code, stderr)
	}
	side, err := os.ReadFile(out + ".rdapq")
	if err != nil || bytes.Contains(side, []byte("secret-number")) || !bytes.Contains(side, []byte("secret_flags_sha256")) {
		t.Errorf("%v: %s", err, side)
	}
	if info, err := os.Stat(out + ".rdapq"); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if code, stderr := run("secret-number-one"); code != 0 || !strings.Contains(stderr, "nothing to do") {
		t.Errorf("same key: exit code %d: %s", code, stderr)
	}
	if code, stderr := run("secret-number-two"); code != exitUsage || !strings.Contains(stderr, "the secret in --server differs") {
		t.Errorf("other key: exit code %d: %s", code, stderr)
	}
}
