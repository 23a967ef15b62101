package rdap

import (
	"fmt"
	"slices"
	"strings"
)

// The functions of this file format parts of a response in the form of an expectation.

// eventLines returns the events. Without others, it omits events that a Summary includes.
func eventLines(events []Event, others bool) []string {
	var out []string
	for _, e := range events {
		switch EventAction(e.Action) {
		case EventRegistration, EventLastChanged, EventExpiration:
			if others && e.Raw != "" {
				continue
			}
		}
		date := e.Raw
		if date == "" {
			date = "-"
		}
		out = append(out, e.Action+" "+date)
	}
	return out
}

func redactionLines(rec *Record) []string {
	var out []string
	add := func(at string, list []Redaction) {
		for _, r := range list {
			out = append(out, at+r.Name+": "+r.Reason+" ("+r.Method+")")
		}
	}
	add("", rec.Redacted)
	for i := range rec.Results {
		add(fmt.Sprintf("%s[%d]: ", rec.Class, i), rec.Results[i].Redacted)
	}
	return out
}

func truncationLines(rec *Record) []string {
	var out []string
	for _, t := range rec.Truncations {
		out = append(out, t.Path+": "+t.Type)
	}
	return out
}

// hostLines returns the nameservers with their addresses, or the addresses of a nameserver's
// own response.
func hostLines(rec *Record) []string {
	var out []string
	add := func(name string, v4, v6 []string) {
		if addresses := slices.Concat(v4, v6); len(addresses) > 0 {
			out = append(out, strings.TrimSpace(name+" "+strings.Join(addresses, " ")))
		}
	}
	add("", rec.V4, rec.V6)
	for _, ns := range rec.Nameservers {
		add(ns.LDHName, ns.V4, ns.V6)
	}
	return out
}

func variantLines(list []Variant) []string {
	var out []string
	for _, v := range list {
		line := strings.Join(v.Relations, "+") + ":"
		for _, n := range v.Names {
			line += " " + n.LDHName + "=" + n.UnicodeName
		}
		if v.IDNTable != "" {
			line += " (" + v.IDNTable + ")"
		}
		out = append(out, line)
	}
	return out
}

func secureLines(s *SecureDNS) []string {
	if s == nil {
		return nil
	}
	var out []string
	if s.ZoneSigned != TriUnknown {
		out = append(out, "zone "+s.ZoneSigned.String())
	}
	if s.DelegationSigned != TriUnknown {
		out = append(out, "delegation "+s.DelegationSigned.String())
	}
	if s.MaxSigLife != nil {
		out = append(out, fmt.Sprint("life ", *s.MaxSigLife))
	}
	for _, d := range s.DS {
		out = append(out, "ds"+numbers(d.KeyTag, d.Algorithm, d.DigestType))
	}
	for _, k := range s.Keys {
		out = append(out, "key"+numbers(k.Flags, k.Protocol, k.Algorithm))
	}
	return out
}

func numbers(list ...*uint32) string {
	var b strings.Builder
	for _, n := range list {
		if n == nil {
			b.WriteString(" -")
		} else {
			fmt.Fprintf(&b, " %d", *n)
		}
	}
	return b.String()
}

func networkLine(n *Record) string {
	if n == nil {
		return ""
	}
	parts := []string{n.StartAddress, n.EndAddress}
	for _, c := range n.CIDRs {
		parts = append(parts, c.String())
	}
	return strings.TrimSpace(strings.Join(append(parts, n.Name, n.Country), " "))
}

func publicIDLines(list []PublicID) []string {
	var out []string
	for _, id := range list {
		out = append(out, id.Type+"="+id.Identifier)
	}
	return out
}

// linkLines returns the links that an RDAP client can use.
func linkLines(list []Link) []string {
	var out []string
	for _, l := range list {
		switch {
		case l.HasRel("related") && l.Type == "application/rdap+json":
			out = append(out, "related "+l.Href)
		case l.HasRel("geofeed"):
			out = append(out, "geofeed "+l.Href)
		}
	}
	return out
}

// resultLines returns class, handle, names and numbers of each object.
func resultLines(list []Record) []string {
	var out []string
	for i := range list {
		rec := &list[i]
		parts := []string{rec.Class, rec.Handle, rec.LDHName, rec.UnicodeName, rec.Name, rec.Contact().Name}
		for _, c := range rec.CIDRs {
			parts = append(parts, c.String())
		}
		if rec.StartAutnum != nil && rec.EndAutnum != nil {
			parts = append(parts, fmt.Sprintf("%d-%d", *rec.StartAutnum, *rec.EndAutnum))
		}
		parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
		out = append(out, strings.Join(parts, " "))
	}
	return out
}
