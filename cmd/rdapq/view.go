package main

import (
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/render"
	"github.com/rdapq/rdapq/rdap"
)

// viewOptions are the flags about what is shown of an answer, and how.
type viewOptions struct {
	raw  string // empty: not asked for
	jq   string
	lang string
	time string

	compiled *render.JQ // of jq
}

// Values of --raw.
const (
	rawSafe  = "safe"
	rawForce = "force"
)

// maxJQMessage bounds what is told of an expression that fails, in columns.
const maxJQMessage = 200

// times are the values of --time, the usual one first.
var times = []string{"day", "utc", "local", "rfc3339"}

func (o *viewOptions) register(f *pflag.FlagSet) {
	f.StringVar(&o.raw, "raw", "", "print what the server sent, byte for byte; on a terminal control characters become visible escapes, unless `MODE` is "+rawForce)
	f.Lookup("raw").NoOptDefVal = rawSafe
	f.StringVar(&o.jq, "jq", "", "print what this `EXPRESSION` in the language of jq makes of each row of ndjson, a value a line: strings without quotes, as jq -r prints them, other values as JSON")
	f.StringVar(&o.lang, "lang", "", "`LANGUAGES` to ask servers for and to show where an answer has several, best first: de-AT,en")
	f.StringVar(&o.time, "time", times[0], "`HOW` text shows when something happened: day (by UTC), utc or local (to the second), rfc3339 (as the server wrote it)")
}

// check finds what is wrong with the flags taken together.
func (o *options) checkView() error {
	v := &o.view
	switch {
	case v.raw != "" && v.raw != rawSafe && v.raw != rawForce:
		return usagef(about("raw"), "--raw, or --raw="+rawForce+" for a terminal to get all bytes as they are", "--raw does not take %q", v.raw)
	case v.raw != "" && v.jq != "":
		return usagef(about("raw", "jq"), "leave one of them out", "--raw and --jq exclude each other")
	case v.raw != "" && o.format != "":
		return usagef(about("raw", "format"), "leave one of them out; --format json makes the object easy to read", "--raw and --format exclude each other")
	case v.raw != "" && o.file != "":
		return usagef(about("raw", "file"), `use --format ndjson: its member "rdap" is the server's object`, "--raw does not go with --file: nothing would tell where one answer ends and which lines have none")
	case v.raw != "" && o.search.expand:
		return usagef(about("raw", "expand"), "leave one of them out", "--raw and --expand exclude each other")
	case v.jq != "" && o.format != "" && o.format != render.FormatNDJSON:
		return usagef(about("jq"), "leave --format out", "--jq takes the rows of ndjson, not %s", o.format)
	}
	if err := one("--time", v.time, times); err != nil {
		return err
	}
	if _, err := rdap.ParseLanguages(v.lang); err != nil {
		return usagef(about("lang"), "language tags with commas between, such as de-AT,en", "--lang: %w", err)
	}
	if v.jq == "" {
		return nil
	}
	var err error
	if v.compiled, err = render.CompileJQ(v.jq); err != nil {
		return usagef(about("jq"), "such as --jq .summary.expires, or --jq '[.query, .verdict] | @tsv'", "--jq does not take this expression: %w", err)
	}
	return nil
}

// apply says to the views of package render what the flags say.
func (o *viewOptions) apply(r *render.Options, tty bool) {
	r.Visible = tty && o.raw != rawForce
	r.JQ = o.compiled
	r.Text.Languages, _ = rdap.ParseLanguages(o.lang) // check has found them right
	switch o.time {
	case "utc":
		r.Text.Times = render.TimesToTheSecond
	case "local":
		r.Text.Times, r.Text.Zone = render.TimesToTheSecond, time.Local
	case "rfc3339":
		r.Text.Times = render.TimesAsSent
	}
}

// jqFailed tells that --jq came to nothing on a row. The other rows are not
// concerned; the exit code says that there was one.
func (a *app) jqFailed(r *client.Result, err error) {
	a.exit = exitSomeFail
	if a.opts.quiet {
		return
	}
	about := r.Query.String()
	if a.opts.file != "" {
		about = fmt.Sprintf("line %d, %s", r.Line, about)
	}
	// gojq puts the value into some messages, which may be the whole row.
	say(a.stderr, "", fmt.Errorf("--jq: %s: %s", about, render.Shorten(render.Safe(err.Error()), maxJQMessage)))
}
