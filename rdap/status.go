package rdap

import "strings"

// A Status is a status of an object in RDAP's form: words in lower case (RFC 9083
// section 10.2.2). The Status constants are the values that IANA has registered.
type Status string

// Statuses (RFC 8056, RFC 9083 section 10.2.2, IANA's registry of RDAP values).
const (
	StatusActive                   Status = "active" // status "ok" in EPP
	StatusInactive                 Status = "inactive"
	StatusLocked                   Status = "locked"
	StatusAssociated               Status = "associated" // status "linked" in EPP
	StatusValidated                Status = "validated"
	StatusProxy                    Status = "proxy"
	StatusPrivate                  Status = "private"
	StatusRemoved                  Status = "removed"
	StatusObscured                 Status = "obscured"
	StatusReserved                 Status = "reserved"
	StatusAdministrative           Status = "administrative"
	StatusRenewProhibited          Status = "renew prohibited"
	StatusUpdateProhibited         Status = "update prohibited"
	StatusTransferProhibited       Status = "transfer prohibited"
	StatusDeleteProhibited         Status = "delete prohibited"
	StatusAddPeriod                Status = "add period"
	StatusAutoRenewPeriod          Status = "auto renew period"
	StatusRenewPeriod              Status = "renew period"
	StatusTransferPeriod           Status = "transfer period"
	StatusRedemptionPeriod         Status = "redemption period"
	StatusPendingCreate            Status = "pending create"
	StatusPendingDelete            Status = "pending delete"
	StatusPendingRenew             Status = "pending renew"
	StatusPendingRestore           Status = "pending restore"
	StatusPendingTransfer          Status = "pending transfer"
	StatusPendingUpdate            Status = "pending update"
	StatusClientDeleteProhibited   Status = "client delete prohibited"
	StatusClientHold               Status = "client hold"
	StatusClientRenewProhibited    Status = "client renew prohibited"
	StatusClientTransferProhibited Status = "client transfer prohibited"
	StatusClientUpdateProhibited   Status = "client update prohibited"
	StatusServerDeleteProhibited   Status = "server delete prohibited"
	StatusServerHold               Status = "server hold"
	StatusServerRenewProhibited    Status = "server renew prohibited"
	StatusServerTransferProhibited Status = "server transfer prohibited"
	StatusServerUpdateProhibited   Status = "server update prohibited"
)

// eppNames maps EPP to RDAP status values (RFC 8056 section 2), except values that differ only
// by camel case.
var eppNames = [...]struct {
	epp  string
	rdap Status
}{
	{"ok", StatusActive},
	{"linked", StatusAssociated},
}

var knownStatuses = []Status{
	StatusActive, StatusInactive, StatusLocked, StatusAssociated, StatusValidated, StatusProxy,
	StatusPrivate, StatusRemoved, StatusObscured, StatusReserved, StatusAdministrative,
	StatusRenewProhibited, StatusUpdateProhibited, StatusTransferProhibited, StatusDeleteProhibited,
	StatusAddPeriod, StatusAutoRenewPeriod, StatusRenewPeriod, StatusTransferPeriod,
	StatusRedemptionPeriod, StatusPendingCreate, StatusPendingDelete, StatusPendingRenew,
	StatusPendingRestore, StatusPendingTransfer, StatusPendingUpdate, StatusClientDeleteProhibited,
	StatusClientHold, StatusClientRenewProhibited, StatusClientTransferProhibited,
	StatusClientUpdateProhibited, StatusServerDeleteProhibited, StatusServerHold,
	StatusServerRenewProhibited, StatusServerTransferProhibited, StatusServerUpdateProhibited,
}

var statuses = func() vocabulary[Status] {
	v := vocabularyOf(knownStatuses...)
	for _, n := range eppNames {
		v.byLetters[n.epp] = n.rdap
	}
	return v
}()

// ParseStatus returns a status in RDAP's form (RFC 8056): [StatusClientTransferProhibited] for
// "clientTransferProhibited", [StatusActive] for "ok". Known statuses may be in any case, have
// "_" or "-" for spaces, and be followed by a URL, as EPP clients print them. For an unknown
// status, ok is false, and ParseStatus returns the status in lower case, with camel case split
// into words.
func ParseStatus(s string) (status Status, ok bool) {
	s, _, _ = strings.Cut(strings.TrimSpace(s), " http")
	return statuses.parse(s)
}

// Statuses returns the statuses of the object in the form of [ParseStatus], in the order of the
// server, without empty ones.
func (c *Common) Statuses() []Status {
	var out []Status
	for _, s := range c.Status {
		if status, _ := ParseStatus(s); status != "" {
			out = append(out, status)
		}
	}
	return out
}

// EPP returns the EPP form of a status (RFC 8056): "clientTransferProhibited" for
// [StatusClientTransferProhibited], "ok" for [StatusActive]. It converts statuses that
// EPP lacks to the same camel case.
func (s Status) EPP() string {
	for _, n := range eppNames {
		if s == n.rdap {
			return n.epp
		}
	}
	first, rest, _ := strings.Cut(string(s), " ")
	var b strings.Builder
	b.WriteString(first)
	for word := range strings.FieldsSeq(rest) {
		c := word[0]
		if c >= 'a' && c <= 'z' {
			c -= 'a' - 'A'
		}
		b.WriteByte(c)
		b.WriteString(word[1:])
	}
	return b.String()
}
