package journal

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// A Format is the format of rows. A row has the number of its line, from 1, under the name
// "line", and a text that is not empty under the name "verdict".
type Format string

// Formats of rows.
const (
	NDJSON Format = "ndjson" // a JSON object per line
	CSV    Format = "csv"    // a record per line, after the header; no field has a line end
)

const (
	lineName    = "line"
	verdictName = "verdict"
)

// A parser returns the line and the verdict of a row.
type parser func(row []byte) (line int64, verdict string, ok bool)

// parser returns the parser of a format. header is the header of a table.
func (f Format) parser(header []byte) (parser, error) {
	if f != CSV {
		return parseNDJSON, nil
	}
	names, err := csv.NewReader(bytes.NewReader(header)).Read()
	if err != nil {
		return nil, err
	}
	line, verdict := slices.Index(names, lineName), slices.Index(names, verdictName)
	if line < 0 || verdict < 0 {
		return nil, errors.New("a journal needs the columns " + lineName + " and " + verdictName)
	}
	return func(row []byte) (int64, string, bool) {
		cells, err := csv.NewReader(bytes.NewReader(row)).Read()
		if err != nil || len(cells) != len(names) {
			return 0, "", false
		}
		n, err := strconv.ParseInt(cells[line], 10, 64)
		return n, cells[verdict], err == nil && n > 0 && cells[verdict] != ""
	}, nil
}

// parseNDJSON reads a row up to the last member that it needs.
func parseNDJSON(row []byte) (line int64, verdict string, ok bool) {
	d := jsontext.NewDecoder(bytes.NewBuffer(row), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if d.PeekKind() != '{' {
		return 0, "", false
	}
	_, err := d.ReadToken()
	for err == nil && d.PeekKind() == '"' {
		var name, value jsontext.Token
		if name, err = d.ReadToken(); err != nil {
			break
		}
		switch name.String() {
		case lineName:
			if value, err = d.ReadToken(); err == nil && value.Kind() == '0' {
				line, err = strconv.ParseInt(value.String(), 10, 64)
			}
		case verdictName:
			if value, err = d.ReadToken(); err == nil && value.Kind() == '"' {
				verdict = value.String()
			}
		default:
			err = d.SkipValue()
		}
		if line > 0 && verdict != "" {
			return line, verdict, err == nil
		}
	}
	return 0, "", false
}

// rows calls f for each complete row of r, including the line end, and returns the end of the
// last row. The rest of r is a partial row. A row is valid until f returns.
func rows(r io.Reader, f func(row []byte, offset int64) error) (end int64, err error) {
	in := bufio.NewReaderSize(r, 1<<20)
	var long []byte
	for {
		row, err := in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			long = append(long, row...)
			continue
		}
		if err == io.EOF {
			return end, nil
		}
		if err != nil {
			return end, err
		}
		if len(long) > 0 {
			long = append(long, row...)
			row = long
		}
		if err := f(row, end); err != nil {
			return end, err
		}
		end += int64(len(row))
		if long = long[:0]; cap(long) > 16<<20 {
			long = nil
		}
	}
}
