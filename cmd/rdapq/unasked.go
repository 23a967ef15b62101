package main

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/render"
	"github.com/rdapq/rdapq/pool"
)

// A hostSetting is what a flag says of a host, or of a group by its name.
type hostSetting struct{ flag, host string }

// maxUnasked is how many hosts are named that nothing was asked of.
const maxUnasked = 5

// hostSettings are those of the command line and of variables. The configuration
// file lists hosts for all runs, of which one does not ask all.
func (a *app) hostSettings() []hostSetting {
	o := &a.opts
	var list []hostSetting
	add := func(flag string, texts []string, hosts func(text string) []string) {
		for _, text := range texts {
			if slices.ContainsFunc(a.settings, func(s setting) bool { return s.file && "--"+s.flag.Name == flag && s.value == text }) {
				continue
			}
			for _, host := range hosts(text) {
				host = strings.TrimSuffix(strings.ToLower(strings.TrimSpace(host)), ":443")
				if s := (hostSetting{flag, host}); host != "" && !slices.Contains(list, s) {
					list = append(list, s)
				}
			}
		}
	}
	before := func(text string) []string {
		host, _, _ := strings.Cut(text, "=")
		return []string{host}
	}
	add("--rate", o.batch.rates, before)
	add("--group", o.batch.groups, func(text string) []string {
		_, hosts, _ := strings.Cut(text, "=")
		return strings.Split(hosts, ",")
	})
	add("--client-cert", o.clientCerts, before)
	add("--resolve", o.net.resolve, func(text string) []string {
		host, rest, _ := strings.Cut(text, ":")
		port, _, _ := strings.Cut(rest, ":")
		return []string{host + ":" + port}
	})
	return list
}

// tellUnasked names the hosts that flags have settings for and that nothing was
// asked of, in one line, with those asked that they may be meant to be.
func (a *app) tellUnasked(asked []string, unasked []hostSetting, was string) {
	if a.opts.quiet || len(asked) == 0 || len(unasked) == 0 {
		return
	}
	for group := range a.groupNames() {
		asked = append(asked, group)
	}
	slices.Sort(asked)
	var words []string
	for _, s := range unasked[:min(len(unasked), maxUnasked)] {
		about := s.flag
		if host := likely(s.host, asked); host != "" {
			about += "; is " + host + " meant?"
		}
		words = append(words, s.host+" ("+about+")")
	}
	if more := len(unasked) - len(words); more > 0 {
		words = append(words, fmt.Sprintf("%d more", more))
	}
	fmt.Fprintf(a.stderr, "hint: nothing %s asked of %s\n", was, render.Safe(strings.Join(words, ", ")))
}

func (a *app) groupNames() map[string]bool {
	names := make(map[string]bool)
	groups, _ := a.opts.batch.parseGroups() // check has found them right
	for _, group := range groups {
		names[group] = true
	}
	return names
}

// likely returns the name that is written nearly as another, or is one below it;
// empty when none is.
func likely(name string, among []string) string {
	best, least := "", 3
	for _, other := range among {
		d := distance(name, other)
		if strings.HasSuffix(other, "."+name) || strings.HasPrefix(other, name+":") {
			d = 1
		}
		if d > 0 && d < least && d*3 <= len(name) {
			best, least = other, d
		}
	}
	return best
}

// unaskedOf are those of a plan, as far as it knows: servers that links lead to are
// in none.
func (a *app) unaskedOf(p *client.Plan) (asked []string, unasked []hostSetting) {
	if a.session.follows {
		return nil, nil
	}
	for _, s := range p.Servers {
		asked = append(asked, s.Server)
	}
	return asked, a.unmatched()
}

// unmatched are those that limit servers.
func (a *app) unmatched() []hostSetting {
	keys := a.session.client.Unmatched()
	return slices.DeleteFunc(a.hostSettings(), func(s hostSetting) bool {
		return s.flag != "--rate" && s.flag != "--group" || !slices.Contains(keys, s.host)
	})
}

// unaskedAfter are those of a run that has come to its end.
func (a *app) unaskedAfter(stats pool.Stats) (asked []string, unasked []hostSetting) {
	requests := int64(0)
	for _, o := range stats.Origins {
		requests += o.Requests
		if u, err := url.Parse(o.Origin); err == nil {
			asked = append(asked, strings.TrimSuffix(u.Host, ":443"))
		}
	}
	unasked = a.unmatched()
	for _, s := range a.hostSettings() {
		limits := s.flag == "--rate" || s.flag == "--group"
		// Of origins that were long idle, only the sum is known.
		if !limits && requests == stats.Requests && !slices.Contains(asked, s.host) {
			unasked = append(unasked, s)
		}
	}
	for _, s := range a.session.client.Progress().Servers {
		asked = append(asked, s.Server)
	}
	return asked, unasked
}
