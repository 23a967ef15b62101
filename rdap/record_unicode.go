package rdap

import (
	"strings"

	"golang.org/x/net/idna"

	"github.com/rdapq/rdapq/internal/dnsname"
	"github.com/rdapq/rdapq/internal/safetext"
)

// unicodeName drops a unicodeName that is not the Unicode form of ldhName beside
// it: shown as the name, it would be another one. Without an ldhName it is all
// there is.
func (r *reader) unicodeName(ldh string, unicode *string) {
	if *unicode == "" || ldh == "" || strings.EqualFold(*unicode, ldh) || IsUnicodeForm(*unicode, ldh) {
		return
	}
	r.discard("unicodeName " + safetext.Quote(*unicode) + " is not the Unicode form of ldhName " + safetext.Quote(ldh))
	*unicode = ""
}

// IsUnicodeForm reports whether unicode is what an IDN reads as. Case, final dots
// and the full stops of other scripts do not matter.
func IsUnicodeForm(unicode, ldh string) bool {
	unicode, ldh = trimName(unicode), trimName(ldh)
	a, err := dnsname.ToASCII(unicode)
	if err != nil {
		return false
	}
	b, err := dnsname.ToASCII(ldh)
	if err != nil {
		return false
	}
	if a == b {
		return true
	}
	// Registries have labels that IDNA of today refuses or maps.
	decoded, err := idna.Punycode.ToUnicode(b)
	return err == nil && decoded == strings.ToLower(unicode)
}

func trimName(name string) string {
	name = dnsname.FullStops.Replace(strings.TrimSpace(name))
	return strings.TrimSuffix(name, ".")
}
