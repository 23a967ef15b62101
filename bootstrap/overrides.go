package bootstrap

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"golang.org/x/net/idna"
)

// Overrides maps keys to servers, which take precedence over every registry. A key is
//
//   - a domain suffix: "example", "co.example", "." for every name;
//   - an address prefix or an address: "192.0.2.0/24", "2001:db8::1";
//   - AS numbers: "AS64496", "AS64496-64511", both ends included;
//   - a service provider tag with its hyphen: "-ARIN".
//
// The most specific key counts; for a reverse name (in-addr.arpa, ip6.arpa), prefixes come
// before suffixes. The values are base URLs. Resolve returns plain http URLs even without
// [Config.AllowHTTP]. Package client queries such URLs only if its own configuration allows
// http.
type Overrides map[string][]string

// ParseOverrides parses overrides, one per line. A line has a key as in [Overrides], white
// space, and one or more base URLs in the order in which to try them. The URLs of lines with
// the same key accumulate. A comment starts with "#" at the start of a line or after white
// space. Errors include the line number, counted from 1.
func ParseOverrides(r io.Reader) (Overrides, error) {
	o := make(Overrides)
	lines := bufio.NewScanner(r)
	n := 0
	for lines.Scan() {
		n++
		line := lines.Bytes()
		if n == 1 {
			line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
		}
		fields := strings.Fields(string(line))
		for i, f := range fields {
			if strings.HasPrefix(f, "#") {
				fields = fields[:i]
				break
			}
		}
		if len(fields) == 0 {
			continue
		}
		if err := checkOverride(fields[0], fields[1:]); err != nil {
			return nil, fmt.Errorf("overrides: line %d: %w", n, err)
		}
		o[fields[0]] = append(o[fields[0]], fields[1:]...)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("overrides: line %d: %w", n+1, err)
	}
	return o, nil
}

func checkOverride(text string, urls []string) error {
	if _, err := overrideKey(text); err != nil {
		return err
	}
	if len(urls) == 0 {
		return fmt.Errorf("no URL for %q", text)
	}
	for _, u := range urls {
		if _, _, err := baseURL(u); err != nil {
			return err
		}
	}
	return nil
}

// overrideKey detects the kind of a key and parses it.
func overrideKey(text string) (key, error) {
	if tag, ok := strings.CutPrefix(text, "-"); ok {
		return tagKey(tag)
	}
	if numbers, ok := cutAS(text); ok {
		return autnumKey(numbers)
	}
	if strings.ContainsAny(text, "/:") {
		return prefixKey(text)
	}
	if k, err := prefixKey(text); err == nil {
		return k, nil
	}
	name := strings.TrimPrefix(text, "*.")
	if name != "." {
		name = strings.TrimPrefix(name, ".")
	}
	name, err := idna.Lookup.ToASCII(strings.TrimSuffix(name, "."))
	if err == nil && name == "" && text != "." {
		return key{}, errors.New(`empty key; the root is "."`)
	}
	k, errKey := suffixKey(name)
	if err != nil || errKey != nil {
		return key{}, fmt.Errorf("%q is not a domain suffix, prefix, AS number or tag", text)
	}
	return k, nil
}

// cutAS removes "AS" before each number of AS64496-AS64511. If the rest is not numbers, the
// text is a name, such as "as" or "asia".
func cutAS(text string) (numbers string, ok bool) {
	numbers = strings.ToUpper(text)
	numbers = strings.TrimPrefix(numbers, "AS")
	numbers = strings.Replace(numbers, "-AS", "-", 1)
	if numbers == "" || strings.Trim(numbers, "0123456789-") != "" {
		return "", false
	}
	return numbers, true
}

// table validates the overrides and returns them as a table.
func (o Overrides) table() (*table, error) {
	b := tableBuilder{allowHTTP: true}
	for _, text := range slices.Sorted(maps.Keys(o)) {
		urls := o[text]
		if err := checkOverride(text, urls); err != nil {
			return nil, err
		}
		k, err := overrideKey(text)
		if err != nil {
			return nil, err
		}
		b.add(urls, k)
	}
	return b.table(), nil
}
