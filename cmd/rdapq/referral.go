package main

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/render"
)

// referralOptions holds the flags for links in responses.
type referralOptions struct {
	registrar     bool
	registryOnly  bool
	registrarOnly bool
	registrars    string
	related       []string
	cache         bool
	noCache       bool

	timeoutSet bool // --timeout was given and applies to registrars
}

func (o *referralOptions) register(f *pflag.FlagSet) {
	f.BoolVar(&o.registrar, "registrar", false, "query the registrar of a domain after its registry and show both, in text and ndjson (default for arguments, and if --fields has names such as registrar.abuse_email)")
	f.BoolVar(&o.registryOnly, "registry-only", false, "query only the registry (default with --file)")
	f.BoolVar(&o.registrarOnly, "registrar-only", false, "show only the registrar's record")
	f.StringVar(&o.registrars, "registrars", "", "look up the registrar's server in `FILE` if a registry has no link to it; each line has an IANA registrar ID and a base URL, or FILE is IANA's list of registrar IDs as CSV or XML")
	f.StringSliceVar(&o.related, "related", nil, "follow links with these `RELATIONS` from networks, AS numbers and domains and show their targets: "+strings.Join(relations(), ", "))
	f.BoolVar(&o.cache, "cache", false, "cache responses within the run while they are fresh (default: linked objects only)")
	f.BoolVar(&o.noCache, "no-cache", false, "disable the cache")
}

func relations() []string {
	relations := client.Relations()
	names := make([]string, len(relations))
	for i, r := range relations {
		names[i] = string(r)
	}
	return names
}

// check returns an error for invalid values and combinations of flags.
func (o *referralOptions) check() error {
	switch {
	case o.registryOnly && o.registrar:
		return usagef(about("registrar", "registry-only"), "use only one of these flags", "--registrar and --registry-only cannot be used together")
	case o.registryOnly && o.registrarOnly:
		return usagef(about("registrar-only", "registry-only"), "use only one of these flags", "--registrar-only and --registry-only cannot be used together")
	case o.cache && o.noCache:
		return usagef(about("cache", "no-cache"), "use only one of these flags", "--cache and --no-cache cannot be used together")
	}
	for _, r := range o.related {
		if !slices.Contains(relations(), r) {
			return usagef(about("related"), "use one or more of "+strings.Join(relations(), ", "), "invalid value %q for --related", r)
		}
	}
	return nil
}

// promptReferralTimeout is the default timeout of registrar requests for arguments, because the
// registry's record is shown only afterwards. Most registrars respond within a second. The
// default does not apply with --registrar, --registrar-only or --timeout.
const promptReferralTimeout = 4 * time.Second

// configure sets the fields of c that these flags control. It queries the registrar only if the
// output shows the registrar's record. Text and ndjson do, and other formats if --fields names
// fields of that record.
func (o *referralOptions) configure(c *client.Config, file bool, format string, fields []string) {
	named, shown := showsRegistrar(format, fields)
	if o.registrarOnly || shown && (o.registrar || !o.registryOnly && (named || !file)) {
		c.Referral = client.ReferralRegistrar
	}
	for _, r := range o.related {
		c.Related = append(c.Related, client.Relation(r))
	}
	if !file && !o.timeoutSet && !o.registrar && !o.registrarOnly {
		c.ReferralTimeout = promptReferralTimeout
	}
	switch {
	case o.cache:
		c.Cache = client.CacheAll
	case o.noCache:
		c.Cache = client.CacheNone
	}
}

// showsRegistrar reports whether fields name the registrar's record, and whether a
// format shows it.
func showsRegistrar(format string, fields []string) (named, shown bool) {
	named = slices.ContainsFunc(fields, render.OfRegistrar)
	return named, named || render.ShowsRegistrar(format) && (fields == nil || !render.HasFields(format))
}

// checkFormat returns an error if --registrar is given and the output would not show the
// registrar's record.
func (o *referralOptions) checkFormat(format string, fields []string) error {
	if _, shown := showsRegistrar(format, fields); !o.registrar || o.registrarOnly || shown {
		return nil
	}
	hint := "use --format text or ndjson, or --registrar-only to show only the registrar's record"
	if render.HasFields(format) {
		hint = "name its fields, such as --fields query,expires,registrar.expires, or use --registrar-only"
	}
	if fields != nil {
		return usagef(about("registrar", "fields"), hint, "--registrar and these --fields cannot be used together: no such field shows the registrar's record")
	}
	return usagef(about("registrar", "format"), hint, "--registrar and --format %s cannot be used together: the format does not show the registrar's record", format)
}

// table parses the file of --registrars.
func (o *referralOptions) table() (map[string]string, error) {
	if o.registrars == "" {
		return nil, nil
	}
	f, err := os.Open(o.registrars)
	if err != nil {
		return nil, usagef(about("registrars"), "", "cannot read --registrars: %w", err)
	}
	defer f.Close()
	urls, err := client.ParseRegistrars(f)
	if err != nil {
		return nil, usagef(about("registrars"), "write a number and a URL per line, such as 990001 https://rdap.example/", "%s: %w", o.registrars, err)
	}
	return urls, nil
}

// shown returns the result to show: r or, with --registrar-only, the registrar's result.
func (o *referralOptions) shown(r *client.Result) *client.Result {
	if !o.registrarOnly || r.Query.Type != client.TypeDomain || r.Verdict != client.VerdictRegistered {
		return r
	}
	c := *r
	c.Registrar, c.Related = nil, nil
	last := r.Registrar
	for g := r.Registrar; g != nil; g = g.Registrar {
		if last = g; g.Verdict == client.VerdictRegistered {
			break
		}
	}
	if last == nil {
		c.Raw, c.Verdict = nil, client.VerdictNoService
		c.Failure = &client.Error{
			Code: client.CodeBootstrap, Server: r.Server, URL: r.URL, Status: r.Status,
			Message: "the registry has no link to a registrar record for " + r.Query.String(),
			Hint:    "drop --registrar-only to see the registry's record",
		}
		return &c
	}
	c = *last
	c.Registrar = nil
	c.Line, c.Extra, c.Query = r.Line, r.Extra, r.Query
	if c.Verdict == client.VerdictNotFound {
		// The domain is registered, so "not found" would be wrong.
		e := *c.Refusal
		e.Message = "the domain is registered, but the registrar has no record of it: " + e.Message
		c.Verdict, c.Refusal = client.VerdictFailed, &e
	}
	return &c
}

// wasAbandoned reports whether a lookup was canceled before all its requests were sent.
func wasAbandoned(r *client.Result) bool {
	for ; r != nil; r = r.Registrar {
		if errors.Is(r.Failure, client.CodeCanceled) || errors.Is(r.Failure, client.CodeNotSent) && !errors.Is(r.Failure, context.DeadlineExceeded) || slices.ContainsFunc(r.Related, wasAbandoned) {
			return true
		}
	}
	return false
}
