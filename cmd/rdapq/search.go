package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/rdapq/rdapq/client"
)

// searchTypes lists the values of --type for searches.
var searchTypes = []string{
	string(client.TypeDomains), string(client.TypeNameservers), string(client.TypeEntities), string(client.TypeIPs), string(client.TypeAutnums),
}

// searchOptions holds the values of the search flags.
type searchOptions struct {
	config     client.SearchConfig
	maxResults int
	expand     bool
}

func (o *searchOptions) register(f *pflag.FlagSet) {
	f.IntVar(&o.maxResults, "max-results", client.DefaultMaxResults, "stop a search after `N` results; 0 for no limit")
	f.StringVar(&o.config.Sort, "sort", "", "sort results by `PROPERTY[:a|:d]`, ascending or descending; separate several by commas")
	f.BoolVar(&o.config.Count, "count", false, "request the total number of results")
	f.StringVar(&o.config.FieldSet, "field-set", "", "request this field `SET` of each result: id, brief or full")
	f.BoolVar(&o.config.Unannounced, "unannounced", false, "use --sort, --count, --field-set and reverse searches without checking the server's help for support")
	f.BoolVar(&o.expand, "expand", false, "write one result per object found instead of one result per search (not with --file)")
}

func (o *searchOptions) check(file bool) error {
	switch {
	case o.maxResults < 0:
		return usagef(about("max-results"), "use 0 for no limit", "--max-results must not be negative")
	case o.expand && file:
		return usagef(about("expand", "file"), "drop --expand: every line of a file has one result", "--expand and --file cannot be used together")
	}
	if err := o.config.Check(); err != nil {
		return usagef(about("sort", "field-set"), "", "--sort or --field-set: %w", err)
	}
	return nil
}

// configure sets the fields of c that these flags control.
func (o *searchOptions) configure(c *client.Config) {
	c.Search = o.config
	c.Search.MaxResults = o.maxResults
	if o.maxResults == 0 {
		c.Search.MaxResults = -1
	}
}

// searchFlags lists the flags that affect only searches.
var searchFlags = []string{"max-results", "sort", "count", "field-set", "unannounced", "expand"}

// hintSearchFlags prints a hint about search flags that have no effect because no argument is a
// search.
func (a *app) hintSearchFlags(args []string) {
	given := slices.DeleteFunc(slices.Clone(searchFlags), func(name string) bool {
		return !a.flags.Changed(name) || slices.ContainsFunc(a.settings, func(s setting) bool { return s.flag.Name == name })
	})
	if len(given) == 0 || a.opts.quiet || a.opts.file != "" || slices.Contains(searchTypes, a.opts.typ) {
		return
	}
	for _, text := range args {
		if q, err := client.Parse(text); err != nil || q.Search != nil {
			return // the query's result reports an invalid query
		}
	}
	fmt.Fprintf(a.stderr, "hint: --%s only affect searches, such as -t domains 'exam*.com'\n", strings.Join(given, ", --"))
}
