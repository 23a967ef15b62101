package rdaptest

import (
	"net/netip"
	"strings"
)

func (o *Object) handle() string {
	switch {
	case o.Handle != "":
		return o.Handle
	case o.Class == "entity":
		return o.Entity.Handle
	}
	return "H-" + strings.ToUpper(strings.NewReplacer(".", "-", "/", "-", ":", "-").Replace(o.Name))
}

// property returns the values that a search compares with a parameter.
func (o *Object) property(name string) []string {
	switch name {
	case "name":
		if o.Unicode != "" {
			return []string{o.Name, o.Unicode}
		}
		return []string{o.Name}
	case "fn":
		return []string{o.Entity.FN}
	case "handle":
		return []string{o.handle()}
	case "ip":
		return o.Addresses
	case "nsLdhName":
		return o.Nameservers
	case "nsIp":
		return o.Addresses
	}
	return nil
}

func (c Contact) property(name string) []string {
	switch name {
	case "fn":
		return []string{c.FN}
	case "handle":
		return []string{c.Handle}
	case "email":
		return []string{c.Email}
	case "role":
		return []string{c.Role}
	}
	return nil
}

// members returns the members of the object in a response, limited by the field set
// (RFC 8982 section 4).
func (o *Object) members(set string, alone bool) map[string]any {
	m := map[string]any{"objectClassName": o.Class}
	switch o.Class {
	case "domain", "nameserver":
		m["ldhName"] = o.Name
		if o.Unicode != "" {
			m["unicodeName"] = o.Unicode
		}
	default:
		m["handle"] = o.handle()
	}
	if set == "id" && !alone {
		return m
	}
	m["handle"] = o.handle()
	status := o.Status
	if status == "" {
		status = "active"
	}
	m["status"] = []string{status}
	switch o.Class {
	case "ip network":
		m["name"] = o.Name
		if p, err := netip.ParsePrefix(o.Prefix); err == nil {
			m["startAddress"], m["endAddress"] = p.Addr().String(), lastAddr(p).String()
			m["ipVersion"] = map[bool]string{true: "v4", false: "v6"}[p.Addr().Is4()]
		}
	case "autnum":
		m["name"], m["startAutnum"], m["endAutnum"] = o.Name, o.First, o.Last
	case "entity":
		m["vcardArray"] = o.Entity.card()
	case "nameserver":
		var v4, v6 []string
		for _, a := range o.Addresses {
			if strings.Contains(a, ":") {
				v6 = append(v6, a)
			} else {
				v4 = append(v4, a)
			}
		}
		m["ipAddresses"] = map[string][]string{"v4": v4, "v6": v6}
	}
	if set == "brief" && !alone {
		return m
	}
	if o.Created != "" {
		m["events"] = []any{map[string]string{"eventAction": "registration", "eventDate": o.Created}}
	}
	if o.Class != "entity" && o.Entity != (Contact{}) {
		m["entities"] = []any{map[string]any{
			"objectClassName": "entity", "handle": o.Entity.Handle, "roles": []string{o.Entity.Role}, "vcardArray": o.Entity.card(),
		}}
	}
	return m
}

func (c Contact) card() []any {
	return []any{"vcard", []any{
		[]any{"version", map[string]any{}, "text", "4.0"},
		[]any{"fn", map[string]any{}, "text", c.FN},
		[]any{"email", map[string]any{}, "text", c.Email},
	}}
}
