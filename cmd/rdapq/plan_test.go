package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/limit"
)

func examplePlan() *client.Plan {
	return &client.Plan{
		Lines: 1300, Queries: 1250, Duplicates: 20, Approximate: true, Invalid: 1,
		Errors:      []client.PlanError{{Line: 7, Text: "not a name\x1b", Failure: &client.Error{Code: "invalid", Message: `"not a name\x1b": not a query`}}},
		Unsupported: []client.PlanZone{{Zone: ".zz", Lines: 29}},
		Servers: []client.PlanServer{
			{Server: "a.example", Lines: 1200, Queries: 1180, Rate: limit.Rate{N: 100, Per: time.Minute}, Time: 708 * time.Second},
			{Server: "b.example", Lines: 70, Queries: 70, Time: 900 * time.Millisecond},
		},
		Time: 708 * time.Second, Latency: 100 * time.Millisecond,
	}
}

func TestWritePlan(t *testing.T) {
	var b strings.Builder
	if err := writePlan(&b, examplePlan(), 3); err != nil {
		t.Fatal(err)
	}
	want := `1,300 lines, 1,250 queries to send to 2 servers, in about 11 m 48 s
at least 20 duplicates: each is sent again; --dedupe skips them
3 repeated lines skipped
assumed, since it is not known: 100 ms per response over HTTP/2, no retries, no linked records

Servers:
  a.example  1,200 lines · about 11 m 48 s · limit 100 per 1 m
  b.example  70 lines · less than 1 s

No server is known for:
  .zz  29 lines

Invalid (1 line):
  line 7: "not a name\x1b": not a query
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
	known := examplePlan()
	for i, want := range []string{
		"response times of 1 server are those of earlier runs; assumed for the others: 100 ms per response over HTTP/2, no retries, no linked records\n",
		"response times are those of earlier runs; assumed: no retries, no linked records\n",
	} {
		known.Servers[i].Latency = 30 * time.Millisecond
		b.Reset()
		if err := writePlan(&b, known, 0); err != nil || !strings.Contains(b.String(), want) {
			t.Errorf("%s, %v", b.String(), err)
		}
	}
	// The text format lists at most maxPlanLines entries per section.
	p := examplePlan()
	for i := range 1000 {
		p.Servers = append(p.Servers, client.PlanServer{Server: fmt.Sprintf("s%d.example", i), Lines: 1})
	}
	b.Reset()
	if err := writePlan(&b, p, 0); err != nil || strings.Count(b.String(), "\n") > 40 || !strings.Contains(b.String(), "  and 982 more\n") {
		t.Errorf("%s, %v", b.String(), err)
	}
}

func TestWritePlanJSON(t *testing.T) {
	var b strings.Builder
	p := examplePlan()
	p.Servers[1].Latency = 12340 * time.Microsecond
	if err := writePlanJSON(&b, p, 0); err != nil {
		t.Fatal(err)
	}
	want := `{"lines":1300,"queries":1250,"duplicates":20,"approximate":true,"seconds":708,"assumed":{"ms":100,"protocol":"h2"},` +
		`"servers":[{"server":"a.example","lines":1200,"queries":1180,"rate":"100/1m","seconds":708},{"server":"b.example","lines":70,"queries":70,"ms":12.3,"seconds":0.9}],` +
		`"unsupported":[{"zone":".zz","lines":29}],"invalid":1,"errors":[{"line":7,"query":"not a name\u001b","message":"\"not a name\\x1b\": not a query"}]}` + "\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}
