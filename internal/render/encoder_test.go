package render

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/rdapq/rdapq/client"
)

func TestUnknownFormat(t *testing.T) {
	if _, err := NewEncoder("xml", nil, Options{}); err == nil || !strings.Contains(err.Error(), `"xml"`) {
		t.Errorf("got %v", err)
	}
}

// errBroken must be returned unwrapped, because commands look for EPIPE in errors.
var errBroken = errors.New("broken pipe")

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }

func TestWriterErrors(t *testing.T) {
	r := fixtures(t)["domain-thin"]
	for _, format := range Formats() {
		e, err := NewEncoder(format, brokenWriter{}, Options{Many: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Encode(r); err != nil {
			t.Errorf("%s: %v before anything was written", format, err)
		}
		for range 2 {
			if err := e.Flush(); err != errBroken { //nolint:errorlint // documented as unwrapped
				t.Errorf("%s: Flush returns %v", format, err)
			}
		}
		if err := e.Close(); err != errBroken { //nolint:errorlint // see above
			t.Errorf("%s: Close returns %v", format, err)
		}
	}
}

func TestEncodersWriteInBlocks(t *testing.T) {
	r := fixtures(t)["domain-thick"]
	for _, format := range Formats() {
		var out bytes.Buffer
		e, err := NewEncoder(format, &out, Options{Many: true})
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < 5000 && out.Len() == 0; i++ {
			if err := e.Encode(r); err != nil {
				t.Fatal(err)
			}
		}
		if out.Len() == 0 {
			t.Errorf("%s: nothing is written before the end, so memory grows", format)
		}
		before := out.Len()
		if err := e.Flush(); err != nil {
			t.Fatal(err)
		}
		after := out.Len()
		if err := e.Flush(); err != nil || out.Len() != after || before > after {
			t.Errorf("%s: flushing twice wrote more (%v)", format, err)
		}
	}
}

func encodeJSON(t *testing.T, o Options, results ...*client.Result) string {
	t.Helper()
	var out bytes.Buffer
	e, err := NewEncoder(FormatJSON, &out, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if err := e.Encode(r); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return out.String()
}

func TestJSON(t *testing.T) {
	found := &client.Result{Verdict: client.VerdictRegistered, Raw: []byte("{ \"objectClassName\" : \"domain\",\n\"x\":[1, 2.50,{}] }\n")}
	none := fixtures(t)["no-service"]
	why := `{"rdapq":{"line":4,"query":"alpha.zz","type":"domain","verdict":"no_service","time":"2024-03-01T12:00:00.000Z",` +
		`"error":{"code":"no_service","message":"no RDAP service known for .zz (alpha.zz)","hint":"name a server with --server if you know one"}}}`
	object := `{"objectClassName":"domain","x":[1,2.50,{}]}`
	tests := []struct {
		name    string
		opt     Options
		results []*client.Result
		want    string
	}{
		{"one", Options{}, []*client.Result{found}, object + "\n"},
		{"one without a body", Options{}, []*client.Result{none}, why + "\n"},
		{"several", Options{Many: true}, []*client.Result{found, none, found}, "[\n" + object + ",\n" + why + ",\n" + object + "\n]\n"},
		{"none", Options{Many: true}, nil, "[]\n"},
		{"indented", Options{Pretty: true}, []*client.Result{found}, "{\n  \"objectClassName\": \"domain\",\n  \"x\": [\n    1,\n    2.50,\n    {}\n  ]\n}\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := encodeJSON(t, tt.opt, tt.results...)
			if got != tt.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, tt.want)
			}
			if !json.Valid([]byte(got)) {
				t.Error("not JSON")
			}
		})
	}
}

// TestJSONOfError checks that JSON includes the server's error body, which scripts
// need.
func TestJSONOfError(t *testing.T) {
	got := encodeJSON(t, Options{}, fixtures(t)["not-found"])
	if !strings.HasPrefix(got, `{"errorCode":404,`) {
		t.Errorf("got %s", got)
	}
	if got = encodeJSON(t, Options{}, fixtures(t)["html"]); !strings.Contains(got, `"code":"not_rdap"`) {
		t.Errorf("got %s", got)
	}
}
