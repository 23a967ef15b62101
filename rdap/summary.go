package rdap

import (
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/rdapq/rdapq/internal/dnsname"
)

// A Summary is the flat summary of a response, with the same fields for every class.
// Fields that the server did not send are empty, and omitted in JSON.
type Summary struct {
	Handle string `json:"handle,omitempty"`
	// domains and nameservers: the name as A-labels, in lower case, without final dot;
	// entities: the contact's name
	Name string `json:"name,omitempty"`
	// name with U-labels, as sent; empty if it does not match Name
	UnicodeName string `json:"unicode_name,omitempty"`
	// registrar's name, else organisation, else handle, else "IANA " and the number
	Registrar   string `json:"registrar,omitempty"`
	RegistrarID string `json:"registrar_id,omitempty"` // IANA Registrar ID
	// date as sent, normally in RFC 3339 format, as in the following fields
	Created     string   `json:"created,omitempty"`
	Updated     string   `json:"updated,omitempty"`
	Expires     string   `json:"expires,omitempty"`     // expiration sent by the registry, else the registrar's
	Statuses    []string `json:"statuses,omitempty"`    // RDAP status values: see [ParseStatus]
	Nameservers []string `json:"nameservers,omitempty"` // names in lower case, without final dot
	DNSSEC      string   `json:"dnssec,omitempty"`      // "signed", "unsigned" or empty: see [SecureDNS.Signed]
	// address of the registrar's abuse contact, else of any abuse contact
	AbuseEmail string   `json:"abuse_email,omitempty"`
	AbusePhone string   `json:"abuse_phone,omitempty"` // phone number of the same contact
	Start      string   `json:"start,omitempty"`       // first address, or first AS number in digits
	End        string   `json:"end,omitempty"`
	CIDRs      []string `json:"cidrs,omitempty"`
	// for networks and AS numbers: the registrant's name, else its handle
	Holder  string `json:"holder,omitempty"`
	Country string `json:"country,omitempty"` // for networks and AS numbers: the country
}

// A SummaryField is one field of a [Summary]: a string or a list of strings.
type SummaryField struct {
	Name string                   // name as in JSON
	Text func(*Summary) *string   // nil for a list
	List func(*Summary) *[]string // nil for a string
}

// summaryFields lists the fields of a Summary, in order. Output formats follow that order.
var summaryFields = []SummaryField{
	{Name: "handle", Text: func(s *Summary) *string { return &s.Handle }},
	{Name: "name", Text: func(s *Summary) *string { return &s.Name }},
	{Name: "unicode_name", Text: func(s *Summary) *string { return &s.UnicodeName }},
	{Name: "registrar", Text: func(s *Summary) *string { return &s.Registrar }},
	{Name: "registrar_id", Text: func(s *Summary) *string { return &s.RegistrarID }},
	{Name: "created", Text: func(s *Summary) *string { return &s.Created }},
	{Name: "updated", Text: func(s *Summary) *string { return &s.Updated }},
	{Name: "expires", Text: func(s *Summary) *string { return &s.Expires }},
	{Name: "statuses", List: func(s *Summary) *[]string { return &s.Statuses }},
	{Name: "nameservers", List: func(s *Summary) *[]string { return &s.Nameservers }},
	{Name: "dnssec", Text: func(s *Summary) *string { return &s.DNSSEC }},
	{Name: "abuse_email", Text: func(s *Summary) *string { return &s.AbuseEmail }},
	{Name: "abuse_phone", Text: func(s *Summary) *string { return &s.AbusePhone }},
	{Name: "start", Text: func(s *Summary) *string { return &s.Start }},
	{Name: "end", Text: func(s *Summary) *string { return &s.End }},
	{Name: "cidrs", List: func(s *Summary) *[]string { return &s.CIDRs }},
	{Name: "holder", Text: func(s *Summary) *string { return &s.Holder }},
	{Name: "country", Text: func(s *Summary) *string { return &s.Country }},
}

// SummaryFields returns the fields of a Summary in the order of its JSON form.
func SummaryFields() []SummaryField { return slices.Clone(summaryFields) }

// Summarize reads the summary of an RDAP response in one pass, without decoding the rest. It
// accepts the same deviations as [Read] and fails if Read does. Search results, help and errors
// have an empty Summary. It returns at most 100 problems of the members that it reads.
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
	r.borrow(d)
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

// copyStrings replaces all strings with copies. The strings of the Summary share one
// allocation.
func copyStrings(s *Summary, problems []Problem) {
	size := 0
	s.eachString(func(p *string) { size += len(*p) })
	var b strings.Builder
	b.Grow(size)
	s.eachString(func(p *string) {
		b.WriteString(*p)
		*p = b.String()[b.Len()-len(*p):]
	})
	for i := range problems {
		p := &problems[i]
		p.Path, p.Message = strings.Clone(p.Path), strings.Clone(p.Message)
	}
}

// eachString calls f for all strings of s, including those in lists.
func (s *Summary) eachString(f func(*string)) {
	for _, field := range summaryFields {
		if field.Text != nil {
			f(field.Text(s))
			continue
		}
		list := *field.List(s)
		for i := range list {
			f(&list[i])
		}
	}
}

// maxPooled limits the size of responses whose memory is pooled, in bytes, so that the memory
// of a huge response is freed.
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

// reset drops the response but retains slice capacity. Old strings stay reachable until they
// are overwritten.
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
		out.Name = dnsname.Display(rec.LDHName)
	}
	s.statusAndNameservers(rec)
	s.dates(rec.Events)
	s.registrar(rec.Entities)
	s.abuse(rec)
}

// rangeEnds returns the first and last address of a network. If the range is ambiguous, it
// returns the bounds that are addresses.
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
			if parsed, _ := ParseStatus(status); parsed != "" {
				s.out.Statuses = append(s.out.Statuses, string(parsed))
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
			if name = dnsname.Display(name); name != "" {
				s.out.Nameservers = append(s.out.Nameservers, name)
			}
		}
	}
	switch rec.SecureDNS.Signed() {
	case TriYes:
		s.out.DNSSEC = "signed"
	case TriNo:
		s.out.DNSSEC = "unsigned"
	}
}

// contact decodes a card and records its problems. The Contact is valid until the next
// call.
func (s *summarizer) contact(c *Card) *Contact {
	out := &s.card
	out.reset()
	if c.source != nil { // the card is from a Record
		s.reader.source = *c.source
	}
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
