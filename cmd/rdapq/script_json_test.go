package main

import (
	"bytes"
	"encoding/json"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

var jsonCheck = regexp.MustCompile(`^([\w.-]+)(=|~|!$)(?s:(.*))$`)

// cmdJSON checks a JSON document with PATH=TEXT, PATH~REGEXP, or PATH! (absent). A path
// consists of member names and indices separated by dots. It compares values as JSON without
// white space, and strings without quotes.
func cmdJSON(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: json FILE CHECK...")
	}
	var doc any
	if err := decodeJSON([]byte(ts.ReadFile(args[0])), &doc); err != nil {
		ts.Fatalf("%s is not one JSON document: %v", args[0], err)
	}
	checkJSON(ts, doc, args[1:])
}

// cmdRows checks the number of rows: valid JSON, one per line, with unique line
// numbers.
func cmdRows(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: rows FILE N")
	}
	if got := len(readRows(ts, args[0])); strconv.Itoa(got) != args[1] {
		ts.Fatalf("%d rows, want %s", got, args[1])
	}
}

// cmdRow checks the row of a line like [cmdJSON].
func cmdRow(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: row FILE LINE CHECK...")
	}
	row, ok := readRows(ts, args[0])[args[1]]
	if !ok {
		ts.Fatalf("no row for line %s", args[1])
	}
	checkJSON(ts, row, args[2:])
}

func readRows(ts *testscript.TestScript, file string) map[string]any {
	rows := make(map[string]any)
	for text := range strings.Lines(ts.ReadFile(file)) {
		if !strings.HasSuffix(text, "\n") {
			ts.Fatalf("incomplete row: %s", text)
		}
		var row map[string]any
		if err := decodeJSON([]byte(text), &row); err != nil {
			ts.Fatalf("not a row: %v: %s", err, text)
		}
		line, _ := follow(row, "line")
		if _, twice := rows[line]; twice || line == "" {
			ts.Fatalf("duplicate line %q: %s", line, text)
		}
		rows[line] = row
	}
	return rows
}

func checkJSON(ts *testscript.TestScript, doc any, checks []string) {
	for _, check := range checks {
		parts := jsonCheck.FindStringSubmatch(check)
		if parts == nil {
			ts.Fatalf("what is %s?", check)
		}
		got, there := follow(doc, parts[1])
		fine := there
		switch want := parts[3]; parts[2] {
		case "!":
			fine = !there
		case "=":
			fine = there && got == want
		case "~":
			re, err := regexp.Compile(want)
			ts.Check(err)
			fine = there && re.MatchString(got)
		}
		if !fine && !there {
			ts.Fatalf("%s: there is no %s", check, parts[1])
		}
		if !fine {
			ts.Fatalf("%s: it is %s", check, got)
		}
	}
}

// follow returns the value at a path, as text.
func follow(doc any, path string) (text string, there bool) {
	for step := range strings.SplitSeq(path, ".") {
		switch at := doc.(type) {
		case map[string]any:
			doc, there = at[step]
		case []any:
			i, err := strconv.Atoi(step)
			if there = err == nil && i < len(at); there {
				doc = at[i]
			}
		default:
			there = false
		}
		if !there {
			return "", false
		}
	}
	if s, ok := doc.(string); ok {
		return s, true
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(doc); err != nil {
		return err.Error(), true
	}
	return strings.TrimSuffix(b.String(), "\n"), true
}

// decodeJSON decodes a single document, and preserves the text of numbers.
func decodeJSON(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return strconv.ErrSyntax
	}
	return nil
}
