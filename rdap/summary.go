package rdap

import (
	"slices"
	"strconv"
	"strings"
	"sync"
)

// A Summary is the flat gist of an answer, the same for every class. What the
// server did not say is empty, and left out in JSON.
type Summary struct {
	Handle      string   `json:"handle,omitempty"`
	Name        string   `json:"name,omitempty"`         // domains and nameservers: A-labels, lower case, no final dot; entities: the contact's name
	UnicodeName string   `json:"unicode_name,omitempty"` // as sent; empty if it is not that of the name
	Registrar   string   `json:"registrar,omitempty"`    // its name, else its organisation, else its handle, else "IANA " and its number
	RegistrarID string   `json:"registrar_id,omitempty"` // by IANA
	Created     string   `json:"created,omitempty"`      // dates are as sent, which should be RFC 3339
	Updated     string   `json:"updated,omitempty"`
	Expires     string   `json:"expires,omitempty"`     // by the registry; by the registrar only where there is no other
	Statuses    []string `json:"statuses,omitempty"`    // RDAP's words: see [RDAPStatus]
	Nameservers []string `json:"nameservers,omitempty"` // lower case, no final dot
	DNSSEC      string   `json:"dnssec,omitempty"`      // "signed", "unsigned" or empty: see [SecureDNS.Signed]
	AbuseEmail  string   `json:"abuse_email,omitempty"` // of the registrar, else of anybody in the answer with that role
	AbusePhone  string   `json:"abuse_phone,omitempty"` // of the same contact
	Start       string   `json:"start,omitempty"`       // first address, or AS number in digits
	End         string   `json:"end,omitempty"`
	CIDRs       []string `json:"cidrs,omitempty"`
	Holder      string   `json:"holder,omitempty"`  // networks and AS numbers: the registrant's name, else its handle
	Country     string   `json:"country,omitempty"` // networks and AS numbers
}

// Summarize reads the gist of an RDAP response in one pass, without decoding the
// rest. It takes the same liberties as [Read] and fails when that does.
// Search results, help and errors have an empty Summary. The problems are
// those of the members that it read, at most 100.
func Summarize(raw []byte) (Summary, []Problem, error) {
	doc, err := open(raw)
	if err != nil {
		return Summary{}, nil, err
	}
	s, problems := doc.summarize()
	return s, problems, nil
}

// summarize reads the gist of the answer.
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

// fields returns the strings of s that are not in lists.
func (s *Summary) fields() [15]*string {
	return [...]*string{
		&s.Handle, &s.Name, &s.UnicodeName, &s.Registrar, &s.RegistrarID, &s.Created, &s.Updated, &s.Expires,
		&s.DNSSEC, &s.AbuseEmail, &s.AbusePhone, &s.Start, &s.End, &s.Holder, &s.Country,
	}
}

func (s *Summary) lists() [3][]string { return [...][]string{s.Statuses, s.Nameservers, s.CIDRs} }

// copyStrings replaces strings by copies of their own. Those of the Summary are in one
// piece of memory.
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

// maxPooled bounds the answers whose memory is used again, in bytes: a giant
// must not stay for ever.
const maxPooled = 64 << 10

// summarizers keeps the memory that goes into a Summary and is of no use
// afterwards.
var summarizers = sync.Pool{New: func() any { return &summarizer{reader: reader{summaryOnly: true}} }}

// A summarizer makes a Summary of a Record, decoding no more cards than it must.
type summarizer struct {
	reader   reader
	rec      Record
	card     Contact
	out      Summary
	problems []Problem
}

// reset lets go of the answer. Its strings may stay in the lists that are kept,
// until those are used again.
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

// rangeEnds returns the first and last address of a network. Without a certain range they
// are those ends that are addresses.
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

// statusAndNameservers fills in statuses, nameservers and DNSSEC.
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

// contact decodes a card and keeps its problems. The Contact is good until the
// next one is decoded.
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
