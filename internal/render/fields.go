package render

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/weburl"
	"github.com/rdapq/rdapq/rdap"
)

// A view gives access to the fields of a result and decodes its response at most once.
type view struct {
	r       *client.Result
	summary *rdap.Summary
	row     []byte

	registrar *view // view of the registrar's result, set on first use
}

// member returns the value at a path in the row with all members.
func (v *view) member(path []string) value {
	if v.row == nil {
		v.row = appendRow(nil, v.r, true)
	}
	return plainValue(descend(v.row, path))
}

func (v *view) gist() *rdap.Summary {
	if v.summary == nil {
		s := v.r.Summary()
		v.summary = &s
	}
	return v.summary
}

// answer returns the server's object as a row includes it, or nil.
func (v *view) answer() []byte {
	if !isObject(v.r.Raw) {
		return nil
	}
	out, _, err := appendCompact(nil, v.r)
	if err != nil {
		return nil
	}
	return out
}

// A value is the content of a field: text, a list of texts, or other JSON. If it has text and
// JSON, the text is for display. The zero value means absent.
type value struct {
	str  string
	list []string
	json []byte
}

func (v value) isEmpty() bool { return v.str == "" && len(v.list) == 0 && len(v.json) == 0 }

func (v value) appendJSON(dst []byte) []byte {
	switch {
	case len(v.json) > 0:
		return append(dst, v.json...)
	case len(v.list) > 0:
		o := object{dst: dst}
		o.elements(v.list)
		return o.dst
	}
	return appendString(dst, v.str)
}

// text returns v for a cell.
func (v value) text() string {
	switch {
	case v.str != "":
		return cell(v.str)
	case len(v.list) > 0:
		return cell(join(v.list))
	}
	return cell(string(v.json))
}

// A field describes one column or JSON member that a row may have.
type field struct {
	name  string // name as requested
	key   string // name as JSON, without quotes
	value func(v *view) value
}

func text1(f func(*client.Result) string) func(*view) value {
	return func(v *view) value { return value{str: f(v.r)} }
}

func integer(f func(*client.Result) int64) func(*view) value {
	return func(v *view) value {
		if n := f(v.r); n != 0 {
			return value{json: appendInt(nil, n)}
		}
		return value{}
	}
}

// connected returns a field of the connection, which is absent without a connection.
func connected(f func(r *client.Result) value) func(*view) value {
	return func(v *view) value {
		if v.r.Conn.ConnID == 0 {
			return value{}
		}
		return f(v.r)
	}
}

func boolean(b bool) value { return value{json: strconv.AppendBool(nil, b)} }

// knownFields returns the fields of a row, in order, and of its summary.
func knownFields() []field {
	type r = client.Result
	fields := []field{
		{name: "line", value: integer(func(r *r) int64 { return r.Line })},
		{name: "query", value: text1(func(r *r) string { return ShownQuery(r.Query.Text) })},
		{name: "type", value: text1(func(r *r) string { return string(r.Query.Type) })},
		{name: "verdict", value: text1(func(r *r) string { return string(r.Verdict) })},
		{name: "status", value: integer(func(r *r) int64 { return int64(r.Status) })},
		{name: "server", value: text1(func(r *r) string { return weburl.Redact(r.Server) })},
		{name: "source", value: text1(func(r *r) string { return string(r.Source) })},
		{name: "url", value: text1(func(r *r) string { return weburl.Redact(r.URL) })},
		{name: "final_url", value: text1(func(r *r) string { return weburl.Redact(r.FinalURL) })},
		{name: "time", value: text1(func(r *r) string { return timestamp(r.Time) })},
		{name: "attempts", value: integer(func(r *r) int64 { return int64(r.Attempts) })},
		{name: "ms", value: func(v *view) value { return value{json: []byte(millis(v.r))} }},
		{name: "conn", value: connected(func(r *r) value { return value{json: appendConn(nil, &r.Conn)} })},
		{name: "conn.id", value: connected(func(r *r) value { return value{json: appendInt(nil, r.Conn.ConnID)} })},
		{name: "conn.reused", value: connected(func(r *r) value { return boolean(r.Conn.Reused) })},
		{name: "conn.protocol", value: connected(func(r *r) value { return value{str: r.Conn.Protocol} })},
		{name: "conn.tls", value: connected(func(r *r) value { return value{str: tlsVersion(r.Conn.TLS)} })},
		{name: "conn.resumed", value: connected(func(r *r) value { return boolean(r.Conn.Resumed) })},
		{name: "conn.early_data", value: connected(func(r *r) value { return boolean(r.Conn.EarlyData) })},
		{name: "trace", value: connected(func(r *r) value { return value{json: appendTrace(nil, r)} })},
		{name: "cached", value: func(v *view) value {
			if !v.r.Cached {
				return value{}
			}
			return boolean(true)
		}},
		{name: "input", value: func(v *view) value { return value{json: inputObject(v.r.Extra)} }},
		{name: "summary", value: func(v *view) value {
			if out := appendSummary(nil, v.gist()); len(out) > len("{}") {
				return value{json: out}
			}
			return value{}
		}},
	}
	for _, f := range summaryFields {
		fields = append(fields, field{name: f.Name, value: func(v *view) value {
			if f.Text != nil {
				return value{str: *f.Text(v.gist())}
			}
			return value{list: *f.List(v.gist())}
		}})
	}
	fields = append(fields, []field{
		{name: "rdap", value: func(v *view) value { return value{json: v.answer()} }},
		{name: "paging", value: paged(func(p *client.Paging) value { return value{json: appendPaging(nil, p)} })},
		{name: "paging.results", value: paged(func(p *client.Paging) value { return value{json: appendInt(nil, int64(p.Results))} })},
		{name: "paging.total", value: paged(func(p *client.Paging) value {
			if p.Total == 0 {
				return value{}
			}
			return value{json: appendInt(nil, int64(p.Total))}
		})},
		{name: "paging.complete", value: paged(func(p *client.Paging) value { return boolean(p.Complete) })},
		{name: "more_pages", value: paged(func(p *client.Paging) value {
			if len(p.Pages) == 0 {
				return value{}
			}
			return value{json: appendPages(nil, p)}
		})},
		{name: "related", value: func(v *view) value { return v.member([]string{"related"}) }},
		{name: "warnings", value: func(v *view) value { return value{list: messages(v.r.Warnings)} }},
		{name: "error", value: func(v *view) value {
			e := ErrorOf(v.r)
			if e == nil {
				return value{}
			}
			return value{str: errorText(e), json: appendError(nil, e)}
		}},
		{name: "error.code", value: failure(func(e *client.Error) string { return string(e.Code) })},
		{name: "error.message", value: failure(func(e *client.Error) string { return e.Message })},
		{name: "error.hint", value: failure(func(e *client.Error) string { return e.Hint })},
		{name: "shared", value: integer(func(r *r) int64 { return r.SharedLine })},
	}...)
	return fields
}

// paged returns a field of a search that has results.
func paged(f func(p *client.Paging) value) func(*view) value {
	return func(v *view) value {
		if v.r.Paging == nil {
			return value{}
		}
		return f(v.r.Paging)
	}
}

func failure(f func(*client.Error) string) func(*view) value {
	return func(v *view) value {
		e := ErrorOf(v.r)
		if e == nil {
			return value{}
		}
		return value{str: f(e)}
	}
}

// FieldNames returns the names for Options.Fields. In addition, a name may consist of one of
// FieldPaths, a dot, and a path of member names and indices separated by dots. After
// "registrar." the path refers to the row of the registrar's result or its summary
// ("registrar.verdict", "registrar.abuse_email"); "registrar" alone is the registrar's name.
func FieldNames() []string {
	var names []string
	for _, f := range knownFields() {
		names = append(names, f.name)
	}
	return names
}

// FieldPaths lists the members of a row that a path may refer into.
var FieldPaths = [...]string{"rdap", "input", "registrar", "related", "paging", "more_pages", "trace"}

// A FieldError reports an unknown field name.
type FieldError struct{ Name string }

func (e *FieldError) Error() string { return fmt.Sprintf("unknown field %q", e.Name) }

// CheckFields returns a [*FieldError] for the first unknown name.
func CheckFields(names []string) error {
	_, err := lookUp(names)
	return err
}

// lookUp returns the fields with the given names.
func lookUp(names []string) ([]field, error) {
	known := knownFields()
	fields := make([]field, len(names))
	for i, name := range names {
		place := slices.IndexFunc(known, func(f field) bool { return f.name == name })
		switch first, rest, _ := strings.Cut(name, "."); {
		case place >= 0:
			fields[i] = known[place]
		case rest == "":
			return nil, &FieldError{name}
		case first == "rdap":
			path := strings.Split(rest, ".")
			fields[i].value = func(v *view) value { return plainValue(descend(v.answer(), path)) }
		case first == "input":
			fields[i].value = func(v *view) value { return plainValue(descend(inputObject(v.r.Extra), []string{rest})) }
		case first == "registrar":
			var err error
			if fields[i].value, err = ofRegistrar(known, name, rest); err != nil {
				return nil, err
			}
		case slices.Contains(FieldPaths[2:], first):
			path := strings.Split(name, ".")
			fields[i].value = func(v *view) value { return v.member(path) }
		case first == "summary" && inSummary(rest):
			place = slices.IndexFunc(known, func(f field) bool { return f.name == rest })
			fields[i] = known[place]
		default:
			return nil, &FieldError{name}
		}
		quoted := appendString(nil, name)
		fields[i].name, fields[i].key = name, string(quoted[1:len(quoted)-1])
	}
	return fields, nil
}

// ofRegistrar returns the field "registrar." + rest: a member of the registrar's row or, if the
// row has no such member, of its summary.
func ofRegistrar(known []field, name, rest string) (func(*view) value, error) {
	first, _, _ := strings.Cut(rest, ".")
	switch {
	case first != "registrar" && inSummary(rest):
		of := known[slices.IndexFunc(known, func(f field) bool { return f.name == rest })]
		return func(v *view) value {
			if v.r.Registrar == nil {
				return value{}
			}
			if v.registrar == nil {
				v.registrar = &view{r: v.r.Registrar}
			}
			return of.value(v.registrar)
		}, nil
	case slices.ContainsFunc(known, func(f field) bool { return f.name == first }):
		path := strings.Split(name, ".")
		return func(v *view) value { return v.member(path) }, nil
	}
	return nil, &FieldError{name}
}

// OfRegistrar reports whether a field belongs to the registrar's result.
func OfRegistrar(name string) bool { return strings.HasPrefix(name, "registrar.") }

// inSummary reports whether a summary has the member.
func inSummary(name string) bool {
	return slices.ContainsFunc(summaryFields, func(f rdap.SummaryField) bool { return f.Name == name })
}

// plainValue returns a JSON value; a string becomes text, so that cells show it without quotes.
func plainValue(raw []byte) value {
	if jsontext.Value(raw).Kind() == '"' {
		return value{str: textOf(raw)}
	}
	return value{json: raw}
}

// descend returns the value at a path in a JSON document, or nil.
func descend(doc []byte, path []string) []byte {
	for _, step := range path {
		if doc == nil {
			return nil
		}
		doc = child(doc, step)
	}
	return doc
}

// child returns the member or element of a JSON value that step names.
func child(raw []byte, step string) []byte {
	d := jsontext.NewDecoder(bytes.NewBuffer(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	index := -1
	switch d.PeekKind() {
	case '{':
	case '[':
		n, err := strconv.Atoi(step)
		if err != nil || n < 0 {
			return nil
		}
		index = n
	default:
		return nil
	}
	if _, err := d.ReadToken(); err != nil {
		return nil
	}
	for i := 0; d.PeekKind() != '}' && d.PeekKind() != ']'; i++ {
		here := i == index
		if index < 0 {
			name, err := d.ReadToken()
			if err != nil {
				return nil
			}
			here = name.String() == step
		}
		if !here {
			if d.SkipValue() != nil {
				return nil
			}
			continue
		}
		value, err := d.ReadValue()
		if err != nil {
			return nil
		}
		return value.Clone()
	}
	return nil
}

// timestamp formats a time for a row.
func timestamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(rowTime)
}
