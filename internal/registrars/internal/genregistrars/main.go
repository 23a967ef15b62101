// Command genregistrars writes the table of registrars' RDAP servers that package registrars
// contains, from IANA's registry of registrar IDs in CSV or XML.
//
//	genregistrars -from https://www.iana.org/assignments/registrar-ids/registrar-ids-1.csv -o registrars.tsv
//
// -from is an https URL or a file.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/rdapq/rdapq/internal/registrars"
)

func main() {
	from := flag.String("from", "", "https `URL or file` with the list")
	out := flag.String("o", "registrars.tsv", "`file` to write")
	flag.Parse()
	if err := run(*from, *out, time.Now()); err != nil {
		fmt.Fprintln(os.Stderr, "genregistrars:", err)
		os.Exit(1)
	}
}

func run(from, out string, now time.Time) error {
	list, err := open(from)
	if err != nil {
		return err
	}
	urls, err := registrars.Parse(list)
	if err = errors.Join(err, list.Close()); err != nil {
		return err
	}
	return os.WriteFile(out, table(urls, from, now), 0o644)
}

// table formats the entries in the order of their numbers.
func table(urls map[string]string, from string, now time.Time) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# IANA numbers of registrars and the base URLs of their RDAP servers, separated by a\n# tab. Made from %s\n# on %s; do not edit.\n", from, now.UTC().Format(time.DateOnly))
	ids := slices.SortedFunc(maps.Keys(urls), func(a, b string) int {
		if len(a) != len(b) {
			return len(a) - len(b)
		}
		return strings.Compare(a, b)
	})
	for _, id := range ids {
		fmt.Fprintf(&b, "%s\t%s\n", id, urls[id])
	}
	return b.Bytes()
}

func open(from string) (io.ReadCloser, error) {
	if !strings.HasPrefix(from, "https://") {
		return os.Open(from)
	}
	fetcher := &http.Client{Timeout: time.Minute}
	resp, err := fetcher.Get(from)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, errors.Join(fmt.Errorf("%s: %s", from, resp.Status), resp.Body.Close())
	}
	return resp.Body, nil
}
