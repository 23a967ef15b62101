package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rdapq/rdapq/bootstrap/internal/ianafile"
)

// names lists the registries in the order in which they are written.
var names = []string{"dns", "ipv4", "ipv6", "asn", tagged}

// tagged is the registry whose services have three arrays.
const tagged = "object-tags"

// missing returns the services of extra without the keys that f lists.
func missing(f, extra *ianafile.File) []ianafile.Service {
	listed := make(map[string]bool)
	for _, s := range f.Services {
		for _, k := range s.Keys {
			listed[strings.ToLower(k)] = true
		}
	}
	var out []ianafile.Service
	for _, s := range extra.Services {
		s.Keys = slices.DeleteFunc(slices.Clone(s.Keys), func(k string) bool { return listed[strings.ToLower(k)] })
		if len(s.Keys) > 0 {
			out = append(out, s)
		}
	}
	return out
}

// render returns the registries in the format that ianafile reads, with one service per
// line, so that a diff shows each changed service. It merges services with equal URLs,
// sorts keys and services, and omits contacts.
func render(files map[string]*ianafile.File, now time.Time) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "{\"generated\":%q,\"registries\":{", now.UTC().Format(time.DateOnly))
	for i, name := range names {
		f := files[name]
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "\n%q:{\"publication\":%q,\"services\":[", name, f.Published.UTC().Format(time.RFC3339))
		for j, s := range merge(f.Services) {
			if j > 0 {
				b.WriteByte(',')
			}
			b.WriteString("\n[")
			if name == tagged {
				b.WriteString("[],")
			}
			b.Write(array(s.Keys))
			b.WriteByte(',')
			b.Write(array(s.URLs))
			b.WriteByte(']')
		}
		b.WriteString("]}")
	}
	b.WriteString("}}\n")
	return b.Bytes()
}

func merge(services []ianafile.Service) []ianafile.Service {
	keys := make(map[string][]string)
	urls := make(map[string][]string)
	for _, s := range services {
		id := strings.Join(s.URLs, " ")
		keys[id] = append(keys[id], s.Keys...)
		urls[id] = s.URLs
	}
	var out []ianafile.Service
	for id, k := range keys {
		slices.Sort(k)
		out = append(out, ianafile.Service{Keys: slices.Compact(k), URLs: urls[id]})
	}
	slices.SortFunc(out, func(a, b ianafile.Service) int { return cmp.Compare(a.Keys[0], b.Keys[0]) })
	return out
}

func array(s []string) []byte {
	b, err := json.Marshal(s)
	if err != nil {
		return []byte("[]") // strings always marshal
	}
	return b
}
