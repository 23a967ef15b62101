package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/rdapq/rdapq/journal"
)

// A snapshot is the content of the files when the command was killed.
type snapshot struct {
	rows    map[string]bool // names with a row
	waiting int
	asked   int // number of requests until then
}

// check compares the files, and the requests since the previous snapshot. killed is the time of
// the kill, or zero if the command exited by itself.
func (t *trial) check(before *snapshot, killed time.Time) (*snapshot, error) {
	now := &snapshot{rows: make(map[string]bool)}
	for i, name := range t.files() {
		rows, err := t.read(name, i == 0)
		if err != nil {
			return nil, err
		}
		seen := make(map[string]bool)
		for _, r := range rows {
			if seen[r.name] {
				t.violation("%s has two rows in %s", r.name, filepath.Base(name))
			}
			seen[r.name] = true
			if i == 1 && !now.rows[r.name] {
				now.waiting++
			}
			now.rows[r.name] = true
		}
	}
	all, err := t.requests()
	if err != nil {
		return nil, err
	}
	first := 0
	if before != nil {
		first = before.asked
		for name := range before.rows {
			if !now.rows[name] {
				t.violation("the row of %s is missing", name)
			}
		}
	}
	answered := t.o.latency + journal.DefaultFlushInterval + t.o.slack
	for _, r := range all[first:] {
		if before != nil && before.rows[r.name] {
			t.violation("%s was queried again although it had a row", r.name)
		}
		if !killed.IsZero() && killed.Sub(r.at) > answered && !now.rows[r.name] {
			t.violation("%s got a response %v before the kill, but has no row", r.name, killed.Sub(r.at)-t.o.latency)
		}
	}
	now.asked = len(all)
	t.asked = len(all)
	times := make(map[string]int)
	for _, r := range all {
		times[r.name]++
	}
	t.again = len(all) - len(times)
	return now, nil
}

type row struct {
	line int
	name string
}

// read reads the complete rows of a file. It ignores an incomplete row at the end.
func (t *trial) read(name string, header bool) ([]row, error) {
	data, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	data = data[:bytes.LastIndexByte(data, '\n')+1]
	var rows []row
	for text := range bytes.Lines(data) {
		if header && t.format == "csv" {
			header = false
			continue
		}
		r, ok := t.parse(text)
		switch {
		case !ok:
			t.violation("%s: invalid row: %.200s", filepath.Base(name), text)
		case t.lineOf[r.name] != r.line:
			t.violation("%s: %s is on line %d, but its row has line %d", filepath.Base(name), r.name, t.lineOf[r.name], r.line)
		default:
			rows = append(rows, r)
		}
	}
	return rows, nil
}

func (t *trial) parse(text []byte) (row, bool) {
	if t.format == "csv" {
		cells, err := csv.NewReader(bytes.NewReader(text)).Read()
		if err != nil || len(cells) < 4 || cells[3] != "registered" {
			return row{}, false
		}
		line, err := strconv.Atoi(cells[0])
		return row{line, cells[1]}, err == nil
	}
	var r struct {
		Line           int
		Query, Verdict string
	}
	err := json.Unmarshal(text, &r)
	return row{r.Line, r.Query}, err == nil && r.Verdict == "registered"
}

// checkWhole checks that each line has one row, and that the only files are the output and its
// sidecar. With --ordered it also checks the order of rows.
func (t *trial) checkWhole() error {
	rows, err := t.read(t.output, true)
	if err != nil {
		return err
	}
	have := make(map[int]bool)
	last := 0
	for _, r := range rows {
		if t.ordered && r.line <= last {
			t.violation("line %d follows line %d", r.line, last)
		}
		last = r.line
		have[r.line] = true
	}
	for line, name := range t.names {
		if name != "" && !have[line] {
			t.violation("line %d has no row", line)
		}
	}
	if len(rows) != t.o.lines {
		t.violation("%d rows for %d lines", len(rows), t.o.lines)
	}
	left, err := filepath.Glob(filepath.Join(t.dir, "*rdapq*"))
	if err != nil {
		return err
	}
	for _, name := range left {
		if name != t.output+journal.SidecarSuffix {
			t.violation("%s was left behind", filepath.Base(name))
		}
	}
	return nil
}
