package main

import (
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/render"
	"github.com/rdapq/rdapq/rdap"
)

// viewOptions holds the flags for the presentation of results.
type viewOptions struct {
	raw  string // value of --raw; empty if not given
	jq   string
	lang string
	time string

	compiled *render.JQ // compiled form of jq
}

// Values of --raw.
const (
	rawSafe  = "safe"
	rawForce = "force"
)

// maxJQMessage limits the error message of a filter, in columns.
const maxJQMessage = 200

// times lists the values of --time; the first is the default.
var times = []string{"day", "utc", "local", "rfc3339"}

func (o *viewOptions) register(f *pflag.FlagSet) {
	f.StringVar(&o.raw, "raw", "", "print the response body unchanged; on a terminal, control characters are escaped unless `MODE` is "+rawForce)
	f.Lookup("raw").NoOptDefVal = rawSafe
	f.StringVar(&o.jq, "jq", "", "apply this jq `FILTER` to each ndjson row and print one value per line: strings without quotes as jq -r does, other values as JSON")
	f.StringVar(&o.lang, "lang", "", "request and show text in these `LANGUAGES`, best first: de-AT,en")
	f.StringVar(&o.time, "time", times[0], "show dates in text output as `FORMAT`: day (in UTC), utc or local (to the second), rfc3339 (as sent by the server)")
}

// check returns an error for invalid values and combinations of flags.
func (o *options) checkView() error {
	v := &o.view
	switch {
	case v.raw != "" && v.raw != rawSafe && v.raw != rawForce:
		return usagef(about("raw"), "use --raw, or --raw="+rawForce+" to send all bytes to a terminal unchanged", "invalid value %q for --raw", v.raw)
	case v.raw != "" && v.jq != "":
		return usagef(about("raw", "jq"), "use only one of these flags", "--raw and --jq cannot be used together")
	case v.raw != "" && o.format != "":
		return usagef(about("raw", "format"), "use only one of these flags; --format json indents the object", "--raw and --format cannot be used together")
	case v.raw != "" && o.file != "":
		return usagef(about("raw", "file"), `use --format ndjson: its member "rdap" is the server's object`, "--raw and --file cannot be used together: the output would not separate the responses")
	case v.raw != "" && o.search.expand:
		return usagef(about("raw", "expand"), "use only one of these flags", "--raw and --expand cannot be used together")
	case v.jq != "" && o.format != "" && o.format != render.FormatNDJSON:
		return usagef(about("jq", "format"), "drop --format", "--jq and --format %s cannot be used together", o.format)
	}
	if err := checkOneOf("--time", v.time, times); err != nil {
		return err
	}
	if _, err := rdap.ParseLanguages(v.lang); err != nil {
		return usagef(about("lang"), "use language tags separated by commas, such as de-AT,en", "invalid --lang: %w", err)
	}
	if v.jq == "" {
		return nil
	}
	var err error
	if v.compiled, err = render.CompileJQ(v.jq); err != nil {
		return usagef(about("jq"), "try --jq .summary.expires, or --jq '[.query, .verdict] | @tsv'", "invalid --jq filter: %w", err)
	}
	return nil
}

// apply sets the options of package render that these flags control.
func (o *viewOptions) apply(r *render.Options, tty bool) {
	r.Visible = tty && o.raw != rawForce
	r.JQ = o.compiled
	r.Text.Languages, _ = rdap.ParseLanguages(o.lang) // check has already validated the languages
	switch o.time {
	case "utc":
		r.Text.Times = render.TimesToTheSecond
	case "local":
		r.Text.Times, r.Text.Zone = render.TimesToTheSecond, time.Local
	case "rfc3339":
		r.Text.Times = render.TimesAsSent
	}
}

// printJQError prints an error for a row on which the --jq filter failed, and sets the exit
// code. Other rows are unaffected.
func (a *app) printJQError(r *client.Result, err error) {
	a.exit = exitSomeFail
	if a.opts.quiet {
		return
	}
	about := r.Query.String()
	if a.opts.file != "" {
		about = fmt.Sprintf("line %d, %s", r.Line, about)
	}
	// Some messages of gojq include the value, which may be the whole row.
	printError(a.stderr, "", fmt.Errorf("--jq: %s: %s", about, render.Shorten(render.Safe(err.Error()), maxJQMessage)))
}
