package rdap

import (
	"slices"
	"strconv"
	"strings"
	"sync"
)

// A Summary is the flat summary of a response, with the same fields for every class.
// Fields that the server did not send are empty, and omitted in JSON.
type Summary struct {
	Handle      string   `json:"handle,omitempty"`
	Name        string   `json:"name,omitempty"`         // domains and nameservers: A-labels, lower case, no final dot; entities: the contact's name
	UnicodeName string   `json:"unicode_name,omitempty"` // as sent; empty if it does not match Name
	Registrar   string   `json:"registrar,omitempty"`    // its name, else its organisation, else its handle, else "IANA " and its number
	RegistrarID string   `json:"registrar_id,omitempty"` // IANA Registrar ID
	Created     string   `json:"created,omitempty"`      // dates are as sent, normally RFC 3339
	Updated     string   `json:"updated,omitempty"`
	Expires     string   `json:"expires,omitempty"`     // from the registry; from the registrar only if there is no other
	Statuses    []string `json:"statuses,omitempty"`    // RDAP status values: see [RDAPStatus]
	Nameservers []string `json:"nameservers,omitempty"` // lower case, no final dot
	DNSSEC      string   `json:"dnssec,omitempty"`      // "signed", "unsigned" or empty: see [SecureDNS.Signed]
	AbuseEmail  string   `json:"abuse_email,omitempty"` // of the registrar's abuse contact, else of any abuse contact
	AbusePhone  string   `json:"abuse_phone,omitempty"` // of the same contact
	Start       string   `json:"start,omitempty"`       // first address, or AS number in digits
	End         string   `json:"end,omitempty"`
	CIDRs       []string `json:"cidrs,omitempty"`
	Holder      string   `json:"holder,omitempty"`  // networks and AS numbers: the registrant's name, else its handle
	Country     string   `json:"country,omitempty"` // networks and AS numbers
}

// Summarize reads the summary of an RDAP response in one pass, without decoding the
// rest. It accepts the same deviations as [Read] and fails if Read does. Search
// results, help and errors have an empty Summary. It returns at most 100 problems,
// those of the members that it reads.
func Summarize(raw []byte) (Summary, []Problem, error) {
	doc, err := open(raw)
	if err != nil {
		return Summary{}, nil, err
	}
	s, problems := doc.summarize()
	return s, problems, nil
}

func (d *document) summarize() (Summary, []Problem) {
	s := summarizers.Get().(*summarizer)
	r, rec := &s.reader, &s.rec
	r.borrow(d.object)
	r.record(rec)
	s.problems = d.problems(r.problems)
	n := len(s.problems)
	if rec.Class != ClassError && rec.Class != ClassHelp {
		s.record(rec)
	}
	out, problems := s.out, slices.Concat(s.problems[:n], mergeProblems(s.problems[n:]))
	copyStrings(&out, problems)
	if s.reset(); len(d.object) <= maxPooled {
		summarizers.Put(s)
	}
	return out, problems
}

// fields returns the string fields of s.
func (s *Summary) fields() [15]*string {
	return [...]*string{
		&s.Handle, &s.Name, &s.UnicodeName, &s.Registrar, &s.RegistrarID, &s.Created, &s.Updated, &s.Expires,
		&s.DNSSEC, &s.AbuseEmail, &s.AbusePhone, &s.Start, &s.End, &s.Holder, &s.Country,
	}
}

func (s *Summary) lists() [3][]string { return [...][]string{s.Statuses, s.Nameservers, s.CIDRs} }

// copyStrings replaces all strings with copies. Those of the Summary share one
// allocation.
func copyStrings(s *Summary, problems []Problem) {
	fields, lists := s.fields(), s.lists()
	size := 0
	for _, p := range fields {
		size += len(*p)
	}
	for _, list := range lists {
		for _, text := range list {
			size += len(text)
		}
	}
	var b strings.Builder
	b.Grow(size)
	own := func(text string) string {
		b.WriteString(text)
		return b.String()[b.Len()-len(text):]
	}
	for _, p := range fields {
		*p = own(*p)
	}
	for _, list := range lists {
		for i, text := range list {
			list[i] = own(text)
		}
	}
	for i := range problems {
		p := &problems[i]
		p.Path, p.Message = strings.Clone(p.Path), strings.Clone(p.Message)
	}
}

// maxPooled limits the responses whose memory is pooled, in bytes, so that the memory
// of a huge one is freed.
const maxPooled = 64 << 10

// summarizers pools the temporary memory of summarize.
var summarizers = sync.Pool{New: func() any { return &summarizer{reader: reader{summaryOnly: true}} }}

// A summarizer makes a Summary of a Record. It decodes only the cards that it needs.
type summarizer struct {
	reader   reader
	rec      Record
	card     Contact
	out      Summary
	problems []Problem
}

// reset drops the response but keeps slice capacity. Old strings stay reachable until
// they are overwritten.
func (s *summarizer) reset() {
	s.rec.reset()
	s.card.reset()
	s.out, s.problems = Summary{}, nil
	s.reader = reader{summaryOnly: true, dnssec: s.reader.dnssec, types: s.reader.types}
}

func (s *summarizer) record(rec *Record) {
	out := &s.out
	out.Handle = rec.Handle
	out.UnicodeName = rec.UnicodeName
	out.Country = rec.Country
	out.Start, out.End = rangeEnds(rec)
	if rec.StartAutnum != nil {
		out.Start = strconv.FormatUint(uint64(*rec.StartAutnum), 10)
	}
	if rec.EndAutnum != nil {
		out.End = strconv.FormatUint(uint64(*rec.EndAutnum), 10)
	}
	if len(rec.CIDRs) > 0 {
		out.CIDRs = make([]string, len(rec.CIDRs))
		for i, p := range rec.CIDRs {
			out.CIDRs[i] = p.String()
		}
	}
	switch rec.Class {
	case ClassEntity:
		c := s.contact(&rec.Card)
		out.Name = c.Name
		if out.Name == "" {
			out.Name = c.Org
		}
		out.AbuseEmail = c.AbuseEmail
		out.RegistrarID = RegistrarID(rec.PublicIDs)
	case ClassIPNetwork, ClassAutnum:
		out.Name = rec.Name
		s.holder(rec.Entities)
	default:
		out.Name = DisplayName(rec.LDHName)
	}
	s.statusAndNameservers(rec)
	s.dates(rec.Events)
	s.registrar(rec.Entities)
	s.abuse(rec)
}

// rangeEnds returns the first and last address of a network. If the range is ambiguous,
// it returns those bounds that are addresses.
func rangeEnds(rec *Record) (start, end string) {
	if rec.StartAddress == "" && rec.EndAddress == "" {
		return "", ""
	}
	if first, last, ok := rec.AddressRange(); ok {
		return spelling(rec.StartAddress, first), spelling(rec.EndAddress, last)
	}
	if e := parseBound(rec.StartAddress); e.addr.IsValid() {
		start = spelling(rec.StartAddress, e.addr)
	}
	if e := parseBound(rec.EndAddress); e.addr.IsValid() {
		end = spelling(rec.EndAddress, e.addr)
	}
	return start, end
}

// statusAndNameservers sets statuses, nameservers and DNSSEC.
func (s *summarizer) statusAndNameservers(rec *Record) {
	if len(rec.Status) > 0 {
		s.out.Statuses = make([]string, 0, len(rec.Status))
		for _, status := range rec.Status {
			if status = RDAPStatus(status); status != "" {
				s.out.Statuses = append(s.out.Statuses, status)
			}
		}
	}
	if len(rec.Nameservers) > 0 {
		s.out.Nameservers = make([]string, 0, len(rec.Nameservers))
		for _, ns := range rec.Nameservers {
			name := ns.LDHName
			if name == "" {
				name = ns.UnicodeName
			}
			if name = DisplayName(name); name != "" {
				s.out.Nameservers = append(s.out.Nameservers, name)
			}
		}
	}
	switch rec.SecureDNS.Signed() {
	case Yes:
		s.out.DNSSEC = "signed"
	case No:
		s.out.DNSSEC = "unsigned"
	}
}

// contact decodes a card and records its problems. The Contact is valid until the next
// call.
func (s *summarizer) contact(c *Card) *Contact {
	out := &s.card
	out.reset()
	c.decode(out, &s.reader)
	for _, p := range out.Problems {
		s.addProblem(p)
	}
	return out
}

func (s *summarizer) addProblem(p Problem) {
	if len(s.problems) < maxProblems && !slices.Contains(s.problems, p) {
		s.problems = append(s.problems, p)
	}
}
