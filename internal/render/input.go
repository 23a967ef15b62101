package render

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/rdapq/rdapq/rdap"
)

// WholeInput in Options.InputColumns stands for all of Result.Extra as JSON in one
// column, for inputs whose columns are not known in advance.
const WholeInput = ""

// inputColumn returns the CSV name of an input column.
func inputColumn(name string) string {
	if name == WholeInput {
		return "input"
	}
	return "input_" + Safe(flat(name))
}

// inputObject returns Result.Extra for a row, or nil if it is not a JSON object.
func inputObject(extra []byte) []byte {
	if !isObject(extra) {
		return nil
	}
	out, _, err := rdap.Compact(nil, extra)
	if err != nil {
		return nil
	}
	return out
}

// inputCells returns the members of extra with the given names as text.
func inputCells(extra []byte, names []string) []string {
	cells := make([]string, len(names))
	if whole := slices.Index(names, WholeInput); whole >= 0 {
		cells[whole] = string(inputObject(extra))
	}
	if !isObject(extra) {
		return cells
	}
	d := jsontext.NewDecoder(bytes.NewBuffer(extra), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	for _, err := d.ReadToken(); err == nil && d.PeekKind() == '"'; {
		var name jsontext.Token
		if name, err = d.ReadToken(); err != nil {
			break
		}
		at := slices.Index(names, name.String())
		var value jsontext.Value
		if value, err = d.ReadValue(); err == nil && at >= 0 {
			cells[at] = textOf(value)
		}
	}
	return cells
}

// textOf returns a JSON value as text: the content of a string, or "" for null.
func textOf(value jsontext.Value) string {
	switch value.Kind() {
	case '"':
		text, _ := jsontext.AppendUnquote(nil, value) // bytes that are not UTF-8 are replaced
		return string(text)
	case 'n':
		return ""
	}
	return string(value)
}
