package main

import (
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/secret"
)

// redactedSecret is the warning of a result in which a secret was redacted.
const redactedSecret = "redacted_secret: the response contains a secret, shown as " + secret.Replacement

// knownSecrets returns all secrets given to this run. The output must show none of them, even
// if a server repeats it.
func (a *app) knownSecrets(credentials map[string]*client.Credential) *secret.Set {
	var list []string
	for _, c := range credentials {
		list = append(list, c.Secret)
	}
	places := []string{a.opts.server, a.opts.net.proxy}
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"} {
		places = append(places, os.Getenv(name))
	}
	for _, text := range places {
		list = append(list, secretsOf(text)...)
	}
	return secret.NewSet(append(list, os.Getenv(certPassword)))
}

// setSecrets redacts the secrets of this run from all further output.
func (a *app) setSecrets(credentials map[string]*client.Credential) {
	a.secrets = a.knownSecrets(credentials)
	if s, ok := a.stderr.(*screen); ok {
		s.setSecrets(a.secrets)
	}
}

// secretsOf returns the secrets in a URL, with or without a scheme.
func secretsOf(text string) []string {
	if text == "" {
		return nil
	}
	if !strings.Contains(text, "://") {
		text = "https://" + text
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil
	}
	return secret.OfURL(u)
}

// redact redacts the secrets in a result. It copies the data that it changes, because results
// may share data.
func redact(known *secret.Set, r *client.Result) {
	of := []*secret.Set{known}
	if own := secret.NewSet(secretsOf(r.Query.URL)); own != nil && r.Query.URL != "" {
		of = append(of, own) // key in the queried URL
	}
	for _, set := range of {
		if set != nil && redactAll(set, r) {
			r.Warnings = append(slices.Clip(r.Warnings), client.Warning{Code: client.WarnRedacted, Message: redactedSecret})
		}
	}
}

func redactAll(set *secret.Set, r *client.Result) (found bool) {
	text := func(s *string) {
		redacted, here := set.String(*s)
		*s, found = redacted, found || here
	}
	body := func(b *[]byte) {
		redacted, here := set.JSON(*b)
		if here {
			*b, found = redacted, true
		}
	}
	fault := func(e **client.Error) {
		if *e == nil {
			return
		}
		c := **e
		for _, s := range []*string{&c.Message, &c.Hint, &c.Server, &c.URL} {
			text(s)
		}
		*e = &c
	}
	for _, s := range []*string{&r.Query.Text, &r.Server, &r.URL, &r.FinalURL} {
		text(s)
	}
	fault(&r.Refusal)
	fault(&r.Failure)
	body(&r.Raw)
	if slices.ContainsFunc(r.Warnings, func(w client.Warning) bool { return set.In([]byte(w.Message)) }) {
		r.Warnings = slices.Clone(r.Warnings)
		for i := range r.Warnings {
			text(&r.Warnings[i].Message)
		}
	}
	if r.Paging != nil {
		p := *r.Paging
		p.Pages = slices.Clone(p.Pages)
		text(&p.Next)
		text(&p.Stopped)
		fault(&p.Failure)
		for i := range p.Pages {
			text(&p.Pages[i].URL)
			body(&p.Pages[i].Raw)
		}
		r.Paging = &p
	}
	if r.Registrar != nil {
		c := *r.Registrar
		found = redactAll(set, &c) || found
		r.Registrar = &c
	}
	if len(r.Related) > 0 {
		r.Related = slices.Clone(r.Related)
		for i, of := range r.Related {
			c := *of
			found = redactAll(set, &c) || found
			r.Related[i] = &c
		}
	}
	return found
}

// isSecretFlag reports whether the value of a flag contains a secret.
func (a *app) isSecretFlag(f *pflag.Flag) bool {
	return a.secrets.In([]byte(f.Value.String())) || f.Name == "server" && len(secretsOf(f.Value.String())) > 0
}
