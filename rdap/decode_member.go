package rdap

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/rdapq/rdapq/rdap/internal/jsonscan"
)

// memberName returns the member name of RFC 9083 or its extensions that name stands
// for, since servers write some in another case ("secureDns", "nameServers"). It
// returns other names unchanged.
func memberName(name string) string {
	switch name {
	case "objectClassName", "handle", "status", "entities", "events", "links", "remarks", "publicIds", "port43", "lang",
		"name", "type", "country", "ldhName", "unicodeName", "nameservers", "secureDNS", "variants", "network",
		"startAddress", "endAddress", "ipVersion", "parentHandle", "cidr0_cidrs", "v4prefix", "v6prefix", "length",
		"startAutnum", "endAutnum", "arin_originas0_originautnums", "roles", "vcardArray", "jscard", "contact_URI",
		"asEventActor", "networks", "autnums", "ipAddresses", "v4", "v6", "redacted", "notices", "rdapConformance",
		"title", "description", "detail", "errorCode", "eventAction", "eventActor", "eventDate", "identifier",
		"href", "rel", "media", "value", "hreflang", "zoneSigned", "delegationSigned", "maxSigLife", "dsData", "keyData",
		"keyTag", "algorithm", "digestType", "digest", "flags", "protocol", "publicKey",
		"relation", "relations", "idnTable", "variantNames", "reason", "method", "prePath", "postPath", "replacementPath", "pathLang",
		"domainSearchResults", "nameserverSearchResults", "entitySearchResults", "ipSearchResults", "autnumSearchResults":
		return name
	}
	if known, ok := membersByFold[strings.ToLower(name)]; ok {
		return known
	}
	return name
}

// membersByFold maps lower-case names, and other common misspellings, to member names.
var membersByFold = func() map[string]string {
	names := strings.Fields(`
		objectClassName handle status entities events links remarks publicIds port43 lang
		name type country ldhName unicodeName nameservers secureDNS variants network
		startAddress endAddress ipVersion parentHandle cidr0_cidrs v4prefix v6prefix length
		startAutnum endAutnum arin_originas0_originautnums roles vcardArray jscard contact_URI
		asEventActor networks autnums ipAddresses v4 v6 redacted notices rdapConformance
		title description detail errorCode eventAction eventActor eventDate identifier
		href rel media value hreflang zoneSigned delegationSigned maxSigLife dsData keyData
		keyTag algorithm digestType digest flags protocol publicKey
		relation relations idnTable variantNames reason method prePath postPath replacementPath pathLang
		domainSearchResults nameserverSearchResults entitySearchResults ipSearchResults autnumSearchResults`)
	out := map[string]string{"statuses": "status"}
	for _, name := range names {
		out[strings.ToLower(name)] = name
	}
	return out
}()

const (
	// maxRespelled limits the number of misspelled names that a reader reports.
	maxRespelled = 20
	// maxDuplicateSearch limits the bytes searched for correctly spelled members.
	// Beyond it, misspelled members are ignored.
	maxDuplicateSearch = 1 << 20
)

// member reads the name of a member of RFC 9083 in any case. A correctly spelled member
// takes precedence over a misspelled one. Each misspelling is reported once.
func (r *reader) member() string {
	name := r.name()
	known := memberName(name)
	if known == name || r.err != nil {
		return known
	}
	if r.hasMember(known) {
		return name
	}
	if name != "contact_uri" && !slices.Contains(r.spellings, name) && len(r.spellings) < maxRespelled {
		r.spellings = append(r.spellings, name)
		r.warnRow("read as " + known + ": member name is not spelled as in RFC 9083")
	}
	return known
}

// hasMember reports whether the current object has a member of that name.
func (r *reader) hasMember(name string) bool {
	r.locator.advance(r.raw, r.pos)
	if len(r.locator.frames) == 0 {
		return false
	}
	for i := r.locator.frames[len(r.locator.frames)-1].start + 1; i < len(r.raw); {
		switch kind := jsonscan.KindOf[r.raw[i]]; kind {
		case jsonscan.Separator:
			i++
			continue
		case jsontext.KindString:
		default: // end of the object
			return false
		}
		start := i
		i = jsonscan.StringEnd(r.raw, i)
		if r.unquote(r.text[start:i]) == name {
			return true
		}
		for i < len(r.raw) && jsonscan.KindOf[r.raw[i]] == jsonscan.Separator {
			i++
		}
		i = jsonscan.ValueEnd(r.raw, i)
		if r.searched += i - start; r.searched > maxDuplicateSearch {
			return true
		}
	}
	return false
}
