package render

import (
	"bytes"
	"crypto/tls"
	"strconv"
	"strings"
	"time"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/weburl"
	"github.com/rdapq/rdapq/pool"
	"github.com/rdapq/rdapq/rdap"
)

// AppendRow appends r as one line of NDJSON, including the line break. It omits members without
// a value. The order of members is: line, query, type, verdict, status, server, source, url,
// final_url (if it differs from url), time (RFC 3339, UTC), attempts, ms, conn, cached (if from
// the cache), trace (with [Options].Trace), input (Result.Extra), summary, rdap, for searches
// paging and more_pages (the pages after the first, as rdap has it), registrar
// (Result.Registrar as a row), related (Result.Related as rows, by relation), warnings, error,
// shared (Result.SharedLine).
//
// The member rdap is the server's object as [rdap.Compact] returns it, with every member, in
// the server's order. It is absent if the body is not a JSON object. The row is valid JSON on
// one line for any response.
func AppendRow(dst []byte, r *client.Result) []byte { return appendRow(dst, r, false) }

// appendRow is like AppendRow. If traced is set, it adds the timings of the lookup.
func appendRow(dst []byte, r *client.Result, traced bool) []byte {
	o := object{dst: append(dst, '{')}
	o.integer("line", r.Line)
	o.str("query", ShownQuery(r.Query.Text))
	o.str("type", string(r.Query.Type))
	o.str("verdict", string(r.Verdict))
	o.integer("status", int64(r.Status))
	o.str("server", weburl.Redact(r.Server))
	o.str("source", string(r.Source))
	url := weburl.Redact(r.URL)
	o.str("url", url)
	if final := weburl.Redact(r.FinalURL); final != url {
		o.str("final_url", final)
	}
	if !r.Time.IsZero() {
		o.key("time")
		o.dst = append(o.dst, '"')
		o.dst = r.Time.UTC().AppendFormat(o.dst, rowTime)
		o.dst = append(o.dst, '"')
	}
	o.integer("attempts", int64(r.Attempts))
	if r.Elapsed > 0 {
		o.key("ms")
		o.dst = appendMillis(o.dst, r.Elapsed)
	}
	if r.Conn.ConnID != 0 {
		o.key("conn")
		o.dst = appendConn(o.dst, &r.Conn)
		if traced {
			o.key("trace")
			o.dst = appendTrace(o.dst, r)
		}
	}
	if r.Cached {
		o.boolean("cached", true)
	}
	if extra := inputObject(r.Extra); extra != nil {
		o.key("input")
		o.dst = append(o.dst, extra...)
	}
	warnings := o.answer(r)
	o.pages(r)
	o.others(r, traced)
	if len(r.Warnings) > 0 {
		warnings = append(messages(r.Warnings), warnings...)
	}
	o.list("warnings", warnings)
	if e := ErrorOf(r); e != nil {
		o.key("error")
		o.dst = appendError(o.dst, e)
	}
	o.integer("shared", r.SharedLine)
	return append(o.dst, '}', '\n')
}

// rowTime is RFC 3339 with milliseconds.
const rowTime = "2006-01-02T15:04:05.000Z"

// answer appends summary and rdap, and returns warnings about the body.
func (o *object) answer(r *client.Result) (warnings []string) {
	if !isObject(r.Raw) {
		return nil
	}
	begun, mark := o.begun, len(o.dst)
	if resp, err := r.Response(); err == nil {
		summary, problems := resp.Summary()
		o.key("summary")
		before := len(o.dst)
		o.dst = appendSummary(o.dst, &summary)
		if len(o.dst) == before+len("{}") {
			o.dst, o.begun = o.dst[:mark], begun
		}
		for _, p := range problems {
			if p.Discarded || p.InRow {
				warnings = append(warnings, p.String())
			}
		}
	}
	begun, mark = o.begun, len(o.dst)
	o.key("rdap")
	var changed []string
	var err error
	if o.dst, changed, err = appendCompact(o.dst, r); err != nil {
		o.dst, o.begun = o.dst[:mark], begun
		return warnings
	}
	return append(warnings, changed...)
}

// summaryFields lists the fields of a summary, for all formats that have columns.
var summaryFields = rdap.SummaryFields()

func appendSummary(dst []byte, s *rdap.Summary) []byte {
	o := object{dst: append(dst, '{')}
	for i := range summaryFields {
		if f := &summaryFields[i]; f.Text != nil {
			o.str(f.Name, *f.Text(s))
		} else {
			o.list(f.Name, *f.List(s))
		}
	}
	return append(o.dst, '}')
}

func appendConn(dst []byte, t *pool.Trace) []byte {
	o := object{dst: append(dst, '{')}
	o.integer("id", t.ConnID)
	o.boolean("reused", t.Reused)
	o.str("protocol", t.Protocol)
	o.str("tls", tlsVersion(t.TLS))
	o.boolean("resumed", t.Resumed)
	o.boolean("early_data", t.EarlyData)
	return append(o.dst, '}')
}

func appendError(dst []byte, e *client.Error) []byte {
	o := object{dst: append(dst, '{')}
	o.str("code", string(e.Code))
	o.str("message", e.Message)
	o.str("hint", e.Hint)
	return append(o.dst, '}')
}

func appendInt(dst []byte, n int64) []byte { return strconv.AppendInt(dst, n, 10) }

// appendMillis appends d in milliseconds with one decimal.
func appendMillis(dst []byte, d time.Duration) []byte {
	return strconv.AppendFloat(dst, float64(d)/float64(time.Millisecond), 'f', 1, 64)
}

// tlsVersion returns "1.3" for tls.VersionTLS13, or "" without TLS.
func tlsVersion(v uint16) string {
	switch v {
	case tls.VersionTLS10:
		return "1.0"
	case tls.VersionTLS11:
		return "1.1"
	case tls.VersionTLS12:
		return "1.2"
	case tls.VersionTLS13:
		return "1.3"
	}
	return ""
}

var byteOrderMark = []byte("\xef\xbb\xbf")

// isObject reports whether raw is an object, if raw is JSON.
func isObject(raw []byte) bool {
	raw = bytes.TrimLeft(bytes.TrimPrefix(raw, byteOrderMark), " \t\r\n")
	return len(raw) > 0 && raw[0] == '{'
}

// ShownQuery returns a query as the user wrote it, without passwords and keys in a URL.
func ShownQuery(text string) string {
	if strings.Contains(text, "://") {
		return weburl.Redact(text)
	}
	return text
}

// ndjsonShape returns the shape of NDJSON: one object per line, with the requested members.
func ndjsonShape(o Options) (shape, error) {
	if o.Fields == nil {
		return shape{row: func(dst []byte, r *client.Result) []byte { return appendRow(dst, r, o.Trace) }}, nil
	}
	fields, err := lookUp(o.Fields)
	if err != nil {
		return shape{}, err
	}
	return shape{row: func(dst []byte, r *client.Result) []byte {
		v := view{r: r}
		out := object{dst: append(dst, '{')}
		for _, f := range fields {
			if value := f.value(&v); !value.isEmpty() {
				out.key(f.key)
				out.dst = value.appendJSON(out.dst)
			}
		}
		return append(out.dst, '}', '\n')
	}}, nil
}

// messages returns the texts of warnings.
func messages(warnings []client.Warning) []string {
	var list []string
	for _, w := range warnings {
		list = append(list, w.Message)
	}
	return list
}
