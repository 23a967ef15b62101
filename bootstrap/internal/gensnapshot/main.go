// Command gensnapshot writes the snapshot of IANA's five bootstrap registries that
// package bootstrap contains.
//
//	gensnapshot -from https://data.iana.org/rdap/ -o snapshot.json
//
// -from is a URL or a directory. -add names a file in the format of dns.json, with
// services that are published but missing from that copy of the registry. -add
// never replaces an entry of the registry.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rdapq/rdapq/bootstrap/internal/ianafile"
)

func main() {
	from := flag.String("from", "https://data.iana.org/rdap/", "`URL or directory` with the five files")
	add := flag.String("add", "", "`file` with domain services to add if the registry has none")
	out := flag.String("o", "snapshot.json", "`file` to write")
	flag.Parse()
	if err := run(*from, *add, *out, time.Now()); err != nil {
		fmt.Fprintln(os.Stderr, "gensnapshot:", err)
		os.Exit(1)
	}
}

func run(from, add, out string, now time.Time) error {
	files := make(map[string]*ianafile.File, len(names))
	for _, name := range names {
		data, err := read(from, name+".json")
		if err != nil {
			return err
		}
		if files[name], err = ianafile.Parse(data, name == tagged); err != nil {
			return fmt.Errorf("%s.json: %w", name, err)
		}
		if files[name].Published.IsZero() {
			return fmt.Errorf("%s.json has no publication date", name)
		}
	}
	if add != "" {
		data, err := os.ReadFile(add)
		if err != nil {
			return err
		}
		extra, err := ianafile.Parse(data, false)
		if err != nil {
			return fmt.Errorf("%s: %w", add, err)
		}
		files["dns"].Services = append(files["dns"].Services, missing(files["dns"], extra)...)
	}
	return os.WriteFile(out, render(files, now), 0o644)
}

// limit is the size of the largest file that is read from a server, in bytes.
const limit = 16 << 20

func read(from, name string) ([]byte, error) {
	if !strings.HasPrefix(from, "https://") {
		return os.ReadFile(filepath.Join(from, name))
	}
	client := &http.Client{Timeout: time.Minute}
	resp, err := client.Get(strings.TrimSuffix(from, "/") + "/" + name)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, limit))
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", resp.Request.URL, resp.Status)
	}
	return body, nil
}
