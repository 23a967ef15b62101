package main

import (
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/render"
)

// referralOptions are the flags about what answers point to.
type referralOptions struct {
	registrar     bool
	registryOnly  bool
	registrarOnly bool
	registrars    string
	related       []string
	cache         bool
	noCache       bool

	patient bool // --timeout was given: it holds for registrars as well
}

func (o *referralOptions) register(f *pflag.FlagSet) {
	f.BoolVar(&o.registrar, "registrar", false, "after the registry of a domain ask the registrar that it points to, and show both, in text and ndjson; usual for arguments, and where --fields has names such as registrar.abuse_email")
	f.BoolVar(&o.registryOnly, "registry-only", false, "ask nobody but the registry; usual with --file")
	f.BoolVar(&o.registrarOnly, "registrar-only", false, "show the registrar's record alone")
	f.StringVar(&o.registrars, "registrars", "", "`FILE` with IANA numbers of registrars and the base URLs of their servers, for registries that don't link to them: a number and a URL a line, or IANA's list of registrar ids in CSV or XML")
	f.StringSliceVar(&o.related, "related", nil, "follow links of these `RELATIONS` in answers about networks, AS numbers and domains, and show what they lead to: "+strings.Join(relations(), ", "))
	f.BoolVar(&o.cache, "cache", false, "use answers again within the run while their servers say that they are fresh; usual only for what links lead to")
	f.BoolVar(&o.noCache, "no-cache", false, "never use an answer again")
}

func relations() []string {
	relations := client.Relations()
	names := make([]string, len(relations))
	for i, r := range relations {
		names[i] = string(r)
	}
	return names
}

// check finds what is wrong with the flags taken together.
func (o *referralOptions) check() error {
	switch {
	case o.registryOnly && o.registrar:
		return usagef(about("registrar", "registry-only"), "leave one of them out", "--registrar and --registry-only exclude each other")
	case o.registryOnly && o.registrarOnly:
		return usagef(about("registrar-only", "registry-only"), "leave one of them out", "--registrar-only and --registry-only exclude each other")
	case o.cache && o.noCache:
		return usagef(about("cache", "no-cache"), "leave one of them out", "--cache and --no-cache exclude each other")
	}
	for _, r := range o.related {
		if !slices.Contains(relations(), r) {
			return usagef(about("related"), "one or more of "+strings.Join(relations(), ", "), "--related does not take %q", r)
		}
	}
	return nil
}

// promptReferral is how long somebody at a prompt waits for a registrar, while
// the registry's record is there and can't be shown yet. Most answer within a
// second. Who asks for the registrar, or gives a time, waits as long as for others.
const promptReferral = 4 * time.Second

// configure sets what a client has from these flags. What is not shown is not
// asked for: the registrar's answer is in text and in rows of JSON, and elsewhere
// only where its fields are asked for by name.
func (o *referralOptions) configure(c *client.Config, file bool, format string, fields []string) {
	named, shown := showsRegistrar(format, fields)
	if o.registrarOnly || shown && (o.registrar || !o.registryOnly && (named || !file)) {
		c.Referral = client.ReferralRegistrar
	}
	for _, r := range o.related {
		c.Related = append(c.Related, client.Relation(r))
	}
	if !file && !o.patient && !o.registrar && !o.registrarOnly {
		c.ReferralTimeout = promptReferral
	}
	switch {
	case o.cache:
		c.Cache = client.CacheAll
	case o.noCache:
		c.Cache = client.CacheNone
	}
}

// showsRegistrar reports whether a format shows the registrar's record, and whether
// fields of it are named.
func showsRegistrar(format string, fields []string) (named, shown bool) {
	named = slices.ContainsFunc(fields, render.OfRegistrar)
	return named, named || format == render.FormatText ||
		fields == nil && (format == render.FormatNDJSON || format == render.FormatJQ)
}

// checkFormat refuses a registrar's record that would not be shown.
func (o *referralOptions) checkFormat(format string, fields []string) error {
	if _, shown := showsRegistrar(format, fields); !o.registrar || o.registrarOnly || shown {
		return nil
	}
	hint := "use --format text or ndjson, or --registrar-only for the registrar's record alone"
	if slices.Contains([]string{render.FormatNDJSON, render.FormatCSV, render.FormatTable}, format) {
		hint = "name its fields, such as --fields query,expires,registrar.expires, or use --registrar-only"
	}
	if fields != nil {
		return usagef(about("registrar", "fields"), hint, "--registrar and these --fields cannot be used together: none of them shows the registrar's record")
	}
	return usagef(about("registrar", "format"), hint, "--registrar and --format %s cannot be used together: it does not show the registrar's record", format)
}

// table reads --registrars.
func (o *referralOptions) table() (map[string]string, error) {
	if o.registrars == "" {
		return nil, nil
	}
	f, err := os.Open(o.registrars)
	if err != nil {
		return nil, usagef(about("registrars"), "", "cannot read the registrars: %w", err)
	}
	defer f.Close()
	urls, err := client.ParseRegistrars(f)
	if err != nil {
		return nil, usagef(about("registrars"), "a number and a URL a line, such as 990001 https://rdap.example/", "%s: %w", o.registrars, err)
	}
	return urls, nil
}

// shown returns what is shown of a result: with --registrar-only the registrar's
// part of it.
func (o *referralOptions) shown(r *client.Result) *client.Result {
	if !o.registrarOnly || r.Query.Type != client.TypeDomain || r.Verdict != client.Registered {
		return r
	}
	c := *r
	c.Registrar, c.Related = nil, nil
	last := r.Registrar
	for g := r.Registrar; g != nil; g = g.Registrar {
		if last = g; g.Verdict == client.Registered {
			break
		}
	}
	if last == nil {
		c.Raw, c.Verdict = nil, client.NoService
		c.Err = &client.Error{
			Code: client.CodeBootstrap, Server: r.Server, URL: r.URL, Status: r.Status,
			Message: "the registry points to no registrar's record of " + r.Query.String(),
			Hint:    "leave --registrar-only out to see the registry's",
		}
		return &c
	}
	c = *last
	c.Registrar = nil
	c.Line, c.Extra, c.Query = r.Line, r.Extra, r.Query
	if c.Verdict == client.NotFound {
		// The registry has it, so that is no answer about the domain.
		e := *c.Err
		e.Message = "the registry has it, the registrar does not: " + e.Message
		c.Verdict, c.Err = client.Failed, &e
	}
	return &c
}

// gaveUp reports whether a lookup was given up before all that it was to ask had
// been asked.
func gaveUp(r *client.Result) bool {
	for ; r != nil; r = r.Registrar {
		if r.Err != nil && r.Err.Code == client.CodeCanceled || slices.ContainsFunc(r.Related, gaveUp) {
			return true
		}
	}
	return false
}
