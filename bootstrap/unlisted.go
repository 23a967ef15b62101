package bootstrap

import "strings"

// unlisted has top-level domains whose registry runs RDAP but is not in IANA's file. Most of
// them are country codes, which need not be listed. The list was compared with several public
// lists, none of which is official. Therefore answers from it have a separate source, and
// [Config.IANAOnly] turns it off. IANA's file takes precedence.
var unlisted = [...]struct{ url, suffixes string }{
	{"https://rdap.identitydigital.services/rdap/", "ac ag bz gi io lc me mn pr sc sh tm vc"},
	{"https://rdap.nic.ae/", "ae"},
	{"https://rdap.coccaregistry.org/", "af ki sb"},
	{"https://rdap.iana.org/", "arpa"},
	{"https://rdap.nic.net.bw/", "bw"},
	{"https://rdap.nic.ch/", "ch"},
	{"https://rdap.nic.ci/", "ci"},
	{"https://rdap.registry.co/co/", "co"},
	{"https://rdap.denic.de/", "de"},
	{"https://rdap.dmdomains.dm/rdap/", "dm"},
	{"https://rdap.ethiotelecom.et/rdap/", "et"},
	{"https://rdap.nic.ga/", "ga"},
	{"https://rdap.centralnic.com/gl/", "gl"},
	{"https://rdap.ande.gov.gn/", "gn"},
	{"https://rdap.nic.kn/", "kn"},
	{"https://rdap.nic.li/", "li"},
	{"https://rdap.nic.mr/", "mr"},
	{"https://rdap.mynic.my/rdap/", "my"},
	{"https://rdap.nic.mz/", "mz"},
	{"https://rdap.registry.om/", "om"},
	{"https://rdap.nic.py/", "py"},
	{"https://cctld.ru/tci-ripn-rdap/", "ru xn--p1ai"},
	{"https://rdap.nic.so/", "so"},
	{"https://rdap.nic.td/", "td"},
	{"https://rdap.nic.tl/", "tl"},
	{"https://rdap.nic.us/", "us"},
	{"https://rdap.nic.ve/rdap/", "ve"},
	{"https://rdap.dnrs.vu/", "vu"},
	{"https://rdap.website.ws/", "ws"},
}

// unlistedTable returns the list as a table. Lookups of reverse names do not use the table.
func unlistedTable(allowHTTP bool) *table {
	b := tableBuilder{allowHTTP: allowHTTP}
	for _, u := range unlisted {
		for suffix := range strings.FieldsSeq(u.suffixes) {
			b.add([]string{u.url}, key{registry: RegistryDNS, text: suffix})
		}
	}
	return b.table()
}
