//go:build unix

package interop_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// tableVariable names a file that gets the table, in Markdown.
const tableVariable = "RDAPQ_INTEROP_TABLE"

// A table has a column for each product and a row for each feature.
type table struct {
	versions []string
	cells    map[string][]string // cells by feature, one for each version
	notes    []string
	remarks  []string
}

// TestServers tests every feature of every server. No lookup may fail.
func TestServers(t *testing.T) {
	if os.Getenv("RDAPQ_INTEROP") != "1" {
		t.Skip("RDAPQ_INTEROP=1 runs it")
	}
	l := tapLink(t)
	result := table{cells: make(map[string][]string)}
	for _, p := range products() {
		t.Run(p.name, func(t *testing.T) {
			s := p.start(t, l)
			result.versions = append(result.versions, strings.TrimSpace(p.name+" "+p.version(s.path)))
			if p.remark != "" {
				result.remarks = append(result.remarks, p.name+": "+p.remark)
			}
			for _, f := range features() {
				cell := "failed"
				t.Run(f.name, func(t *testing.T) {
					defer s.lend(t)()
					defer func() {
						if t.Skipped() {
							cell = result.note(s.why)
						}
					}()
					if why := s.lacks[f.name]; why != "" {
						s.skip(t, why)
					}
					out := f.test(t, s)
					if !t.Failed() {
						cell = out.String()
					}
					t.Log(out)
				})
				result.cells[f.name] = append(result.cells[f.name], cell)
			}
		})
	}
	if file := os.Getenv(tableVariable); file != "" {
		if err := os.WriteFile(file, []byte(result.markdown(l != nil)), 0o644); err != nil {
			t.Error(err)
		}
	}
}

// skip skips a cell with a reason for the table.
func (s *instance) skip(t *testing.T, why string) {
	t.Helper()
	s.why = why
	t.Skip(why)
}

// lend assigns the server to another test until giveBack is called.
func (s *instance) lend(t *testing.T) (giveBack func()) {
	owner := s.t
	s.t = t
	return func() { s.t = owner }
}

// note returns a cell that refers to a reason.
func (t *table) note(why string) string {
	for i, n := range t.notes {
		if n == why {
			return fmt.Sprintf("– ⁽%d⁾", i+1)
		}
	}
	t.notes = append(t.notes, why)
	return fmt.Sprintf("– ⁽%d⁾", len(t.notes))
}

func (o outcome) String() string {
	text := fmt.Sprintf("%d of %d · %d full", o.answered, o.asked, o.full)
	if o.resumed > 0 {
		text += fmt.Sprintf(", %d resumed", o.resumed)
	}
	if o.note != "" {
		text += " · " + o.note
	}
	return text
}

func (t *table) markdown(linkCounted bool) string {
	var b strings.Builder
	b.WriteString("# Interoperability\n\n")
	b.WriteString("Each cell is a test: the numbers of lookups answered and sent, TLS handshakes, and\nremarks. A lost lookup fails the test.")
	if linkCounted {
		b.WriteString(" The handshakes were counted on the wire, and the count\nof the pool must match.")
	}
	b.WriteString("\n\nThis page is the output of the following command. It needs root and the servers of Debian's\npackages, which run on loopback with the configurations in `interop/testdata`.\n\n")
	b.WriteString("```console\n$ RDAPQ_INTEROP=1 " + tableVariable + "=$PWD/docs/interop.md go test ./interop -run TestServers\n```\n\n")
	b.WriteString("| | " + strings.Join(t.versions, " | ") + " |\n|" + strings.Repeat(" --- |", len(t.versions)+1) + "\n")
	for _, f := range features() {
		b.WriteString("| " + f.name + " | " + strings.Join(t.cells[f.name], " | ") + " |\n")
	}
	b.WriteString("\n")
	for i, n := range t.notes {
		fmt.Fprintf(&b, "⁽%d⁾ %s  \n", i+1, n)
	}
	b.WriteString("\n")
	for _, r := range t.remarks {
		b.WriteString("- " + r + "\n")
	}
	return b.String()
}
