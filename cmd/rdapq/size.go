package main

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// A size is the value of a flag in bytes.
type size int64

// sizeUnits maps the accepted units, in lower case, to bytes.
var sizeUnits = map[string]float64{
	"": 1, "b": 1,
	"k": 1e3, "kb": 1e3, "m": 1e6, "mb": 1e6, "g": 1e9, "gb": 1e9, "t": 1e12, "tb": 1e12,
	"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40,
}

// String returns the size in the largest unit that divides it.
func (s *size) String() string {
	for _, u := range []struct {
		name  string
		bytes int64
	}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"GB", 1e9}, {"MB", 1e6}, {"KiB", 1 << 10}, {"kB", 1e3}} {
		if n := int64(*s); n > 0 && n%u.bytes == 0 {
			return strconv.FormatInt(n/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatInt(int64(*s), 10)
}

// Set parses a size such as 500MB or 4GiB.
func (s *size) Set(text string) error {
	at := strings.LastIndexAny(text, "0123456789.") + 1
	n, err := strconv.ParseFloat(text[:at], 64)
	unit, ok := sizeUnits[strings.ToLower(strings.TrimSpace(text[at:]))]
	if bytes := n * unit; err == nil && ok && bytes >= 1 && bytes < math.MaxInt64 {
		*s = size(bytes)
		return nil
	}
	return errors.New("expected a size such as 500MB or 4GiB")
}

// Type implements pflag.Value.
func (s *size) Type() string { return "size" }
