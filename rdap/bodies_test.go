package rdap

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// An expectation is the complete content of a response, written by a person who read it. The
// package must find nothing else.
type expectation struct {
	Query   string   `json:"query"`   // query for the response: a type and an object, or a URL
	Status  int      `json:"status"`  // HTTP status of the response; 0 means 200
	Type    string   `json:"type"`    // media type of the response; empty means application/rdap+json
	Verdict string   `json:"verdict"` // verdict of the lookup
	Wider   string   `json:"wider"`   // range of the response, if larger than the query
	Warned  []string `json:"warned"`  // warnings of the lookup, except those about truncation

	Unreadable string        `json:"unreadable"` // part of the error of Read
	Card       *cardExpected `json:"card"`       // content of a body that is only a contact card
	Class      string        `json:"class"`
	Summary    Summary       `json:"summary"`
	// events, except registration, last changed and expiration with dates
	Events []string `json:"events"`
	// problems in the form "path: odd" if the value was read, else "path: lost"
	Problems  []string        `json:"problems"`
	Redacted  []string        `json:"redacted"`
	Truncated []string        `json:"truncated"`
	Contacts  []string        `json:"contacts"`
	Details   json.RawMessage `json:"details"` // details of selected contacts, by path
	Hosts     []string        `json:"hosts"`   // nameservers with their addresses
	Variants  []string        `json:"variants"`
	SecureDNS []string        `json:"secure_dns"`
	Network   string          `json:"network"` // network of a reverse domain
	PublicIDs []string        `json:"public_ids"`
	Actor     []string        `json:"actor"`   // events of asEventActor
	Held      []string        `json:"held"`    // networks and AS numbers of an entity
	Links     []string        `json:"links"`   // links to RDAP responses and geofeeds
	Origins   []uint32        `json:"origins"` // AS numbers that announce a network
	Results   []string        `json:"results"` // results of a search
	Notices   int             `json:"notices"`
	ErrorCode int             `json:"error_code"`
	Title     string          `json:"title"`
	Lines     int             `json:"description"`
}

type cardExpected struct {
	Contacts []string        `json:"contacts"`
	Details  json.RawMessage `json:"details"`
	Problems []string        `json:"problems"`
}

func readExpectations(t testing.TB, name string) map[string]expectation {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	var all map[string]expectation
	if err := dec.Decode(&all); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return all
}

// sharedBodies returns the directory of responses collected from servers.
func sharedBodies(t testing.TB) string {
	t.Helper()
	dir := os.Getenv("RDAPQ_SHARED")
	if dir == "" {
		t.Skip("RDAPQ_SHARED does not say where collected answers are")
	}
	return filepath.Join(dir, "bodies")
}

func TestBodies(t *testing.T) {
	checkFolder(t, sharedBodies(t), "bodies.expect.json")
}

// TestShapes reads fictitious responses in the shapes that occur in practice, and in others.
func TestShapes(t *testing.T) {
	checkFolder(t, filepath.Join("testdata", "shapes"), "shapes.expect.json")
}

// checkFolder compares every body of a directory with its expectation.
func checkFolder(t *testing.T, dir, name string) {
	all := readExpectations(t, name)
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if filepath.Ext(f.Name()) == ".tsv" {
			continue
		}
		t.Run(f.Name(), func(t *testing.T) {
			want, ok := all[f.Name()]
			if !ok {
				t.Fatalf("%s has no expectation for it", name)
			}
			raw, err := os.ReadFile(filepath.Join(dir, f.Name()))
			if err != nil {
				t.Fatal(err)
			}
			want.check(t, raw)
		})
		delete(all, f.Name())
	}
	for missing := range all {
		t.Errorf("%s is not in %s", missing, dir)
	}
}

func (want *expectation) check(t *testing.T, raw []byte) {
	summary, _, sumErr := Summarize(raw)
	rec, err := Read(raw)
	if want.Unreadable != "" {
		if err == nil || sumErr == nil || !strings.Contains(err.Error(), want.Unreadable) {
			t.Errorf("errors %v and %v, want %q", err, sumErr, want.Unreadable)
		}
		if want.Card != nil {
			want.Card.check(t, raw)
		}
		return
	}
	if err != nil || sumErr != nil {
		t.Fatal(err, sumErr)
	}
	diff := func(what string, want, got any) {
		t.Helper()
		if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
			t.Errorf("%s (-want +got):\n%s", what, d)
		}
	}
	class, _ := Classify(raw)
	diff("class", []string{want.Class, want.Class}, []string{rec.Class, class})
	diff("summary", want.Summary, summary)
	diff("events", want.Events, eventLines(rec.Events, true))
	diff("problems", sorted(want.Problems), problemKinds(rec))
	diff("redacted", want.Redacted, redactionLines(rec))
	diff("truncated", want.Truncated, truncationLines(rec))
	diff("origins", want.Origins, rec.OriginAutnums)
	diff("contacts", want.Contacts, contactLines(rec))
	checkDetails(t, want.Details, rec)
	diff("hosts", want.Hosts, hostLines(rec))
	diff("variants", want.Variants, variantLines(rec.Variants))
	diff("secureDNS", want.SecureDNS, secureLines(rec.SecureDNS))
	diff("network", want.Network, networkLine(rec.Network))
	diff("publicIds", want.PublicIDs, publicIDLines(rec.PublicIDs))
	diff("asEventActor", want.Actor, eventLines(rec.AsEventActor, false))
	diff("networks and autnums", want.Held, slices.Concat(resultLines(rec.Networks), resultLines(rec.Autnums)))
	diff("links", want.Links, linkLines(rec.Links))
	diff("results", want.Results, resultLines(rec.Results))
	diff("error", []any{want.ErrorCode, want.Title, want.Lines}, []any{rec.ErrorCode, rec.Title, len(rec.Description)})
	diff("notices", want.Notices, len(rec.Notices))
}

// check reads a body that is a card as an entity's card.
func (want *cardExpected) check(t *testing.T, raw []byte) {
	rec, err := Read(slices.Concat([]byte(`{"objectClassName":"entity","vcardArray":`), raw, []byte("}")))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want.Contacts, contactLines(rec)); d != "" {
		t.Errorf("contact (-want +got):\n%s", d)
	}
	if d := cmp.Diff(want.Problems, problemKinds(rec), cmpopts.EquateEmpty()); d != "" {
		t.Errorf("problems (-want +got):\n%s", d)
	}
	checkDetails(t, want.Details, rec)
}

func sorted(list []string) []string { return slices.Sorted(slices.Values(list)) }

// problemKinds returns the path of each problem and whether it discarded a value.
func problemKinds(rec *Record) []string {
	var out []string
	for _, p := range slices.Concat(rec.Problems, rec.CardProblems()) {
		kind := "odd"
		if p.Discarded {
			kind = "lost"
		}
		out = append(out, p.Path+": "+kind)
	}
	return sorted(out)
}

// A holder is a card with the path of its owner.
type holder struct {
	path   string
	depth  int
	card   Card
	roles  []string
	handle string
}

// cards returns the contacts of a response. Its own contact is first.
func cards(rec *Record) []holder {
	var out []holder
	depth := 0
	if rec.Class == ClassEntity {
		out = append(out, holder{"", 0, rec.Card, rec.Roles, rec.Handle})
		depth = 1
	}
	var walk func(entities []Entity, base string, depth int)
	walk = func(entities []Entity, base string, depth int) {
		for i := range entities {
			e := &entities[i]
			path := fmt.Sprintf("%sentities[%d]", base, i)
			out = append(out, holder{path, depth, e.Card, e.Roles, e.Handle})
			walk(e.Entities, path+".", depth+1)
		}
	}
	walk(rec.Entities, "", depth)
	return out
}

// contactLines returns roles, handle, name, organisation, kind, e-mail, telephone and
// fax of each contact; a mark precedes nested contacts.
func contactLines(rec *Record) []string {
	var out []string
	for _, h := range cards(rec) {
		c := h.card.Contact()
		var phones, fax []string
		for _, p := range c.Phones {
			if p.Fax() {
				fax = append(fax, p.String())
			} else {
				phones = append(phones, p.String())
			}
		}
		roles := strings.Join(h.roles, "+")
		if roles == "" {
			roles = "-"
		}
		line := strings.Join([]string{
			roles, h.handle, c.Name, c.Org, c.Kind,
			strings.Join(c.Emails, ", "), strings.Join(phones, ", "), strings.Join(fax, ", "),
		}, " | ")
		out = append(out, strings.Repeat("> ", h.depth)+strings.TrimRight(line, " |"))
	}
	return out
}

// checkDetails compares the remaining content of the listed cards.
func checkDetails(t *testing.T, raw json.RawMessage, rec *Record) {
	t.Helper()
	want := map[string][]string{}
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &want); err != nil {
			t.Fatal(err)
		}
	}
	for _, h := range cards(rec) {
		lines, ok := want[h.path]
		if !ok {
			continue
		}
		delete(want, h.path)
		c := h.card.Contact()
		if d := cmp.Diff(lines, detailLines(&c)); d != "" {
			t.Errorf("contact %q (-want +got):\n%s", h.path, d)
		}
	}
	for path := range want {
		t.Errorf("no contact at %q", path)
	}
}

func detailLines(c *Contact) []string {
	var out []string
	add := func(what string, values ...string) {
		for _, v := range values {
			if v != "" {
				out = append(out, what+": "+v)
			}
		}
	}
	add("title", c.Title)
	add("role", c.Role)
	for _, a := range c.Addresses {
		add("address", strings.TrimRight(strings.Join(a.Lines, "; ")+" | "+a.Country+" | "+a.CountryCode, " "))
	}
	add("abuse", c.AbuseEmail)
	add("uri", c.ContactURIs...)
	add("url", c.URLs...)
	add("lang", c.Langs...)
	if c.Others > 0 {
		add("others", fmt.Sprint(c.Others))
	}
	return out
}
