// Package registrars reads lists of the RDAP servers of registrars, and contains the
// built-in list. It does not deal with queries or requests.
package registrars

import (
	"bufio"
	"bytes"
	_ "embed"
	"encoding/csv"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
)

// builtin is generated from IANA's list. It is empty until go generate has
// been run.
//
//go:generate go run ./internal/genregistrars -from https://www.iana.org/assignments/registrar-ids/registrar-ids-1.csv -o registrars.tsv
//go:embed registrars.tsv
var builtin string

// Builtin returns the built-in base URLs of registrars by their IANA numbers.
func Builtin() map[string]string {
	urls, _ := parseTable(strings.NewReader(builtin)) // cannot fail: a test parses the same list
	return urls
}

// maxList limits the size of a list of registrars, in bytes. IANA's list has about 250,000
// bytes.
const maxList = 16 << 20

// Parse reads a list of registrars: a table, or IANA's registry of registrar IDs in CSV or XML.
// It returns base URLs by IANA numbers. A line of a table has a number and a URL, separated by
// white space; further fields, and comments that start with "#", are ignored. Parse skips
// entries of IANA's list without a usable URL; a line of a table without a usable URL is an
// error. A list without entries is an error.
func Parse(r io.Reader) (map[string]string, error) {
	in := bufio.NewReader(io.LimitReader(r, maxList+1))
	parse := parseTable
	head, _ := in.Peek(512) // head is shorter for a shorter list
	head = bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\ufeff")), " \t\r\n")
	line, _, _ := bytes.Cut(head, []byte("\n"))
	switch {
	case bytes.HasPrefix(head, []byte("<")):
		parse = parseXML
	case bytes.Contains(line, []byte(",")) && bytes.Contains(bytes.ToLower(line), []byte(csvURLColumn)):
		parse = parseCSV
	}
	urls, err := parse(in)
	if err != nil {
		return nil, fmt.Errorf("list of registrars: %w", err)
	}
	if len(urls) == 0 {
		return nil, errors.New("list of registrars: no registrar with a URL")
	}
	return urls, nil
}

func parseTable(r io.Reader) (map[string]string, error) {
	urls := make(map[string]string)
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		line, _, _ := strings.Cut(strings.TrimPrefix(lines.Text(), "\ufeff"), "#")
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		if len(fields) < 2 {
			return nil, fmt.Errorf("line %d: expected a number and a URL", n)
		}
		id, base, err := Entry(fields[0], fields[1])
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		urls[id] = base
	}
	return urls, lines.Err()
}

// csvURLColumn is the heading of the URL column in IANA's list, in lower case.
const csvURLColumn = "rdap base url"

func parseCSV(r io.Reader) (map[string]string, error) {
	in := csv.NewReader(r)
	in.FieldsPerRecord, in.LazyQuotes = -1, true
	head, err := in.Read()
	if err != nil {
		return nil, err
	}
	column := -1
	for i, name := range head {
		if strings.EqualFold(strings.TrimSpace(name), csvURLColumn) {
			column = i
		}
	}
	urls := make(map[string]string)
	for {
		fields, err := in.Read()
		if errors.Is(err, io.EOF) {
			return urls, nil
		}
		if err != nil {
			return nil, err
		}
		if column < 0 || column >= len(fields) {
			continue
		}
		if id, base, err := Entry(fields[0], fields[column]); err == nil {
			urls[id] = base
		}
	}
}

func parseXML(r io.Reader) (map[string]string, error) {
	urls := make(map[string]string)
	in := xml.NewDecoder(r)
	for {
		token, err := in.Token()
		if errors.Is(err, io.EOF) {
			return urls, nil
		}
		if err != nil {
			return nil, err
		}
		start, ok := token.(xml.StartElement)
		if !ok || start.Name.Local != "record" {
			continue
		}
		var record struct {
			Value   string   `xml:"value"`
			Servers []string `xml:"rdapurl>server"`
		}
		if err := in.DecodeElement(&record, &start); err != nil {
			return nil, err
		}
		for _, server := range record.Servers {
			if id, base, err := Entry(record.Value, server); err == nil {
				urls[id] = base
				break
			}
		}
	}
}

// Entry checks and normalizes a number and a base URL.
func Entry(id, base string) (string, string, error) {
	id = strings.TrimLeft(strings.TrimSpace(id), "0")
	if id == "" || strings.Trim(id, "0123456789") != "" {
		return "", "", errors.New("not an IANA registrar number")
	}
	u, err := url.Parse(strings.TrimSpace(base))
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.User != nil {
		return "", "", errors.New("not the base URL of a server")
	}
	return id, u.String(), nil
}
