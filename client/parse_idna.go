package client

import (
	"errors"
	"strings"
	"unicode"
)

// toASCII turns the U-labels of a name into A-labels and everything else into
// lower case. Labels that are ASCII already pass as they are, "xn--" ones that
// IDNA would refuse included: some are registered, and the registry that has
// them is the one to say so.
func toASCII(s string) (string, error) {
	if isASCIIName(s) {
		return strings.ToLower(s), nil
	}
	s = strings.Map(mapRune, s)
	labels := strings.Split(s, ".")
	for i, label := range labels {
		if isASCIIName(label) {
			continue
		}
		if strings.ContainsFunc(label, isCombiningDiacritic) {
			return "", errors.New("it has a combining accent, write the letter and its accent as one character (NFC)")
		}
		a, err := punycode(label)
		if err != nil {
			return "", err
		}
		labels[i] = "xn--" + a
	}
	return strings.Join(labels, "."), nil
}

// mapRune does those mappings of UTS 46 that need no tables: other dots and
// full-width ASCII become ASCII, ignorable characters go, letters become small.
// Sharp s and final sigma stay (non-transitional processing).
func mapRune(r rune) rune {
	switch {
	case r == '\u3002' || r == '\uff0e' || r == '\uff61':
		return '.'
	case '\uff01' <= r && r <= '\uff5e':
		return unicode.ToLower(r - 0xfee0)
	case r == '\u00ad' || r == '\u200b' || r == '\u2060' || r == '\ufeff' || '\ufe00' <= r && r <= '\ufe0f':
		return -1
	default:
		return unicode.ToLower(r)
	}
}

func isCombiningDiacritic(r rune) bool { return '\u0300' <= r && r <= '\u036f' }

// Parameters of RFC 3492 section 5.
const (
	punyBase = 36
	punyTMin = 1
	punyTMax = 26
	punySkew = 38
	punyDamp = 700
)

// punycode encodes one label as RFC 3492 section 6.3 says.
func punycode(label string) (string, error) {
	// Anything longer cannot fit into a label; the bound also keeps the
	// arithmetic below far from overflowing.
	const maxRunes = 256
	runes := []rune(label)
	if len(runes) > maxRunes {
		return "", errors.New("a label is far too long")
	}
	var b strings.Builder
	for _, r := range runes {
		if r < 0x80 {
			b.WriteRune(r)
		}
	}
	basic := b.Len()
	if basic > 0 {
		b.WriteByte('-')
	}
	n, delta, bias := rune(0x80), 0, 72
	for done := basic; done < len(runes); {
		next := rune(unicode.MaxRune)
		for _, r := range runes {
			if r >= n && r < next {
				next = r
			}
		}
		delta += int(next-n) * (done + 1)
		n = next
		for _, r := range runes {
			if r < n {
				delta++
			}
			if r == n {
				writeVarint(&b, delta, bias)
				bias = adapt(delta, done+1, done == basic)
				delta = 0
				done++
			}
		}
		delta++
		n++
	}
	return b.String(), nil
}

func writeVarint(b *strings.Builder, q, bias int) {
	const digits = "abcdefghijklmnopqrstuvwxyz0123456789"
	for k := punyBase; ; k += punyBase {
		t := min(max(k-bias, punyTMin), punyTMax)
		if q < t {
			b.WriteByte(digits[q])
			return
		}
		b.WriteByte(digits[t+(q-t)%(punyBase-t)])
		q = (q - t) / (punyBase - t)
	}
}

func adapt(delta, points int, first bool) int {
	if first {
		delta /= punyDamp
	} else {
		delta /= 2
	}
	delta += delta / points
	k := 0
	for ; delta > (punyBase-punyTMin)*punyTMax/2; k += punyBase {
		delta /= punyBase - punyTMin
	}
	return k + (punyBase-punyTMin+1)*delta/(delta+punySkew)
}
