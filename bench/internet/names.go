//go:build linux

package main

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
)

// weights has the shares of the largest TLDs in a list typical of registrars. All other names
// are spread over all TLDs, with few names each.
var weights = map[string]float64{
	"com": 0.45, "net": 0.05, "org": 0.045, "info": 0.02, "xyz": 0.025, "online": 0.015, "shop": 0.02, "top": 0.02,
	"store": 0.012, "site": 0.012, "app": 0.01, "dev": 0.01, "biz": 0.008, "club": 0.006, "cloud": 0.008, "tech": 0.006,
	"fr": 0.01, "uk": 0.012, "nl": 0.012, "pl": 0.008, "br": 0.008, "ca": 0.006, "cz": 0.006, "no": 0.004, "fi": 0.004,
}

const (
	idnShare     = 0.03
	garbageShare = 0.01
	noneShare    = 0.05 // share of names below TLDs without an RDAP service
	freeShare    = 0.25 // share of names that are not registered
)

// noService lists TLDs without a known RDAP server.
var noService = []string{"aq", "ax", "bb", "bd", "bt"}

var garbage = []string{"", "not a name", "..", "-", "@", "a..b", "999.999.999.999", "\"quoted", "_", "a b c.example d"}

// A line is a line of the input with its expected result.
type line struct {
	text    string
	host    string // host that serves the name; empty means none
	verdict string // expected verdict: registered, not_found, no_service; empty means any without a request
}

// isFree reports whether a name is not registered. The servers use isFree too.
func isFree(name string) bool {
	h := uint32(2166136261)
	for i := range len(name) {
		h = (h ^ uint32(name[i])) * 16777619
	}
	h ^= h >> 15
	return float64(h%1000) < freeShare*1000
}

// makeLines returns the lines of an input.
func (w *world) makeLines(n int) []line {
	r := rand.New(rand.NewPCG(1, 2))
	var tlds []string
	var sums []float64
	sum := 0.0
	for _, tld := range w.TLDs {
		if weight := weights[tld]; weight > 0 {
			sum += weight
			tlds, sums = append(tlds, tld), append(sums, sum)
		}
	}
	lines := make([]line, n)
	for i := range lines {
		if p := r.Float64(); p < garbageShare {
			lines[i] = line{text: garbage[r.IntN(len(garbage))]}
			continue
		} else if p < garbageShare+noneShare {
			lines[i] = line{text: fmt.Sprintf("name%d.%s", i, noService[r.IntN(len(noService))]), verdict: "no_service"}
			continue
		}
		tld := ""
		if p := r.Float64(); p < sum {
			at, _ := slices.BinarySearch(sums, p)
			tld = tlds[at]
		} else { // the square produces a long tail of rare TLDs
			q := r.Float64()
			tld = w.TLDs[int(q*q*float64(len(w.TLDs)))]
		}
		label, ascii := fmt.Sprintf("name%d", i), fmt.Sprintf("name%d", i)
		if r.Float64() < idnShare {
			label, ascii = fmt.Sprintf("bücher%d", i), ""
		}
		l := line{text: label + "." + tld, host: w.HostOf[tld], verdict: "registered"}
		if ascii != "" && isFree(ascii+"."+tld) {
			l.verdict = "not_found"
		}
		lines[i] = l
	}
	return lines
}

// writeCSV writes lines to a CSV file.
func writeCSV(path string, lines []line) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	fmt.Fprintln(w, "id,domain,owner")
	for i, l := range lines {
		fmt.Fprintf(w, "%d,%s,customer %d\n", i+1, quoteCSV(l.text), i%977)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return f.Close()
}

func quoteCSV(s string) string {
	out := `"`
	for _, c := range s {
		if c == '"' {
			out += `"`
		}
		out += string(c)
	}
	return out + `"`
}
