package rdapqtest_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/rdapqtest"
)

// newClient returns a client of a server. The client closes when the test ends.
func newClient(t *testing.T, s *rdapqtest.Server, change func(*client.Config)) *client.Client {
	t.Helper()
	config := s.Config()
	if change != nil {
		change(&config)
	}
	c, err := client.New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// lookup returns the result of a query, which is never nil, and its error.
func lookup(t *testing.T, c *client.Client, typ client.Type, text string) (*client.Result, error) {
	t.Helper()
	q, err := client.ParseAs(typ, text)
	if err != nil {
		t.Fatal(err)
	}
	return c.Lookup(t.Context(), q)
}

// code returns the code of an error, or "".
func code(err error) string {
	if e, ok := errors.AsType[*client.Error](err); ok {
		return string(e.Code)
	}
	return ""
}

// TestObjects sends queries of all types.
func TestObjects(t *testing.T) {
	s := rdapqtest.NewServer(t, map[string][]byte{
		"/domain/Taken.example":        rdapqtest.Domain{Name: "taken.example"}.JSON(),
		"nameserver/ns1.taken.example": []byte(`{"objectClassName":"nameserver","ldhName":"ns1.taken.example"}`),
		"entity/A b-TEST":              []byte(`{"objectClassName":"entity","handle":"A b-TEST"}`),
		"ip/192.0.2.0/24":              []byte(`{"objectClassName":"ip network","startAddress":"192.0.2.0","endAddress":"192.0.2.255"}`),
		"autnum/64496":                 []byte(`{"objectClassName":"autnum","startAutnum":64496,"endAutnum":64496}`),
		"domains?name=tak*.example":    []byte(`{"rdapConformance":["rdap_level_0"],"domainSearchResults":[]}`),
	})
	c := newClient(t, s, nil)
	for _, test := range []struct {
		typ  client.Type
		text string
		want client.Verdict
	}{
		{client.TypeDomain, "taken.example", client.VerdictRegistered},
		{client.TypeDomain, "TAKEN.EXAMPLE", client.VerdictRegistered},
		{client.TypeDomain, "other.example", client.VerdictNotFound},
		{client.TypeNameserver, "ns1.taken.example", client.VerdictFound},
		{client.TypeEntity, "A b-TEST", client.VerdictFound},
		{client.TypeEntity, "a b-test", client.VerdictNotFound},
		{client.TypeIP, "192.0.2.0/24", client.VerdictFound},
		{client.TypeIP, "192.0.2.1", client.VerdictNotFound},
		{client.TypeAutnum, "AS64496", client.VerdictFound},
		{client.TypeDomains, "tak*.example", client.VerdictFound},
	} {
		r, err := lookup(t, c, test.typ, test.text)
		if err != nil || r.Verdict != test.want || len(r.Warnings) > 0 {
			t.Errorf("%s: %v, %v, %v", test.text, r.Verdict, r.Warnings, err)
		}
	}
	q, err := client.ParseAs(client.TypeHelp, "")
	if err != nil {
		t.Fatal(err)
	}
	q.Server = s.URL()
	if r, err := c.Lookup(t.Context(), q); err != nil || r.Verdict != client.VerdictFound {
		t.Errorf("help: %v, %v", r.Verdict, err)
	}
}

// TestSet changes an object.
func TestSet(t *testing.T) {
	s := rdapqtest.NewServer(t, nil)
	c := newClient(t, s, nil)
	var got []client.Verdict
	for _, body := range [][]byte{nil, rdapqtest.Domain{Name: "a.example"}.JSON(), nil} {
		s.Set("domain/a.example", body)
		r, err := lookup(t, c, client.TypeDomain, "a.example")
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, r.Verdict)
	}
	if want := []client.Verdict{client.VerdictNotFound, client.VerdictRegistered, client.VerdictNotFound}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestDomain reads the object of a Domain, and follows the link to a registrar at a base path.
func TestDomain(t *testing.T) {
	s := rdapqtest.NewServer(t, nil)
	expires := time.Date(2027, 3, 4, 5, 6, 7, 0, time.UTC)
	s.Set("domain/a.example", rdapqtest.Domain{
		Name: "a.example", Registrar: "Invented Names", RegistrarID: "990001", RegistrarURL: s.URL() + "registrar/",
		Status: []string{"client transfer prohibited"}, Registered: expires.AddDate(-2, 0, 0), Expires: expires,
		Nameservers: []string{"ns1.a.example"},
	}.JSON())
	s.Set("registrar/domain/a.example", rdapqtest.Domain{Name: "a.example", Registrar: "The registrar's words"}.JSON())
	c := newClient(t, s, func(c *client.Config) { c.Referral = client.ReferralRegistrar })
	r, err := lookup(t, c, client.TypeDomain, "a.example")
	if err != nil {
		t.Fatal(err)
	}
	sum := r.Summary()
	if sum.Registrar != "Invented Names" || sum.RegistrarID != "990001" || sum.Expires != "2027-03-04T05:06:07Z" ||
		sum.Created != "2025-03-04T05:06:07Z" || !slices.Equal(sum.Nameservers, []string{"ns1.a.example"}) ||
		!slices.Equal(sum.Statuses, []string{"client transfer prohibited"}) {
		t.Errorf("%+v", sum)
	}
	if r.Registrar == nil || r.Registrar.Summary().Registrar != "The registrar's words" {
		t.Errorf("registrar's record: %+v", r.Registrar)
	}
}

// TestFaults checks the result of a client for each fault.
func TestFaults(t *testing.T) {
	for name, test := range map[string]struct {
		fault rdapqtest.Fault
		code  string
	}{
		"status":           {rdapqtest.Status(403), "forbidden"},
		"server error":     {rdapqtest.Status(500), "server_error"},
		"rate limit":       {rdapqtest.RateLimit(0, time.Hour), "rate_limited"},
		"not RDAP":         {rdapqtest.NotRDAP(), "not_rdap"},
		"malformed JSON":   {rdapqtest.MalformedJSON(), "not_rdap"},
		"cut body":         {rdapqtest.CutBody(10), "transport"},
		"close":            {rdapqtest.CloseConnection(), "transport"},
		"too large":        {rdapqtest.TooLarge(1 << 20), "too_large"},
		"redirect to http": {rdapqtest.Redirect("http://127.0.0.1/"), "redirect"},
		"hang":             {rdapqtest.Hang(), "timeout"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := rdapqtest.NewMemoryServer(t, map[string][]byte{"domain/a.example": rdapqtest.Domain{Name: "a.example"}.JSON()})
				c := newClient(t, s, func(c *client.Config) { c.Attempts, c.MaxBody = 1, 1<<19 })
				s.SetFaults("domain/*", test.fault)
				if _, err := lookup(t, c, client.TypeDomain, "a.example"); code(err) != test.code {
					t.Errorf("%q: %v", code(err), err)
				}
				s.SetFaults("domain/*")
				if r, err := lookup(t, c, client.TypeDomain, "b.example"); test.code != "rate_limited" && (err != nil || r.Verdict != client.VerdictNotFound) {
					t.Errorf("without the fault: %v", err)
				}
			})
		})
	}
}

// TestCombinedFaults counts the requests to which First, After and Every apply.
func TestCombinedFaults(t *testing.T) {
	s := rdapqtest.NewServer(t, nil)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: s.Certificates()}}
	t.Cleanup(transport.CloseIdleConnections)
	for name, test := range map[string]struct {
		fault rdapqtest.Fault
		want  []int
	}{
		"first": {rdapqtest.First(2, rdapqtest.Status(503)), []int{503, 503, 404, 404}},
		"after": {rdapqtest.After(3, rdapqtest.Status(503)), []int{404, 404, 404, 503}},
		"every": {rdapqtest.Every(2, rdapqtest.Status(503)), []int{404, 503, 404, 503}},
	} {
		s.SetFaults("*", test.fault)
		var got []int
		for range test.want {
			resp, err := transport.RoundTrip(newRequest(t, s.URL()+"domain/a.example"))
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			got = append(got, resp.StatusCode)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

func newRequest(t *testing.T, url string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestCounts holds requests while it counts them.
func TestCounts(t *testing.T) {
	s := rdapqtest.NewServer(t, nil)
	release := make(chan struct{})
	s.SetFaults("domain/*", rdapqtest.Hold(release))
	c := newClient(t, s, func(c *client.Config) { c.UserAgent, c.PerHost = "counted/1.0", 3 })
	var wg sync.WaitGroup
	for _, name := range []string{"a.example", "b.example", "c.example", "d.example"} {
		wg.Go(func() {
			if _, err := lookup(t, c, client.TypeDomain, name); err != nil {
				t.Error(err)
			}
		})
	}
	if err := s.AwaitRequests(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	if n := s.Counts(); n.Requests != 3 {
		t.Errorf("in flight: %+v", n)
	}
	close(release)
	wg.Wait()
	n := s.Counts()
	if n.Requests != 4 || n.MaxInFlight != 3 || n.Connections < 1 || n.Handshakes != n.Connections {
		t.Errorf("%+v", n)
	}
	requests := s.Requests()
	if len(requests) != 4 {
		t.Fatalf("%d requests", len(requests))
	}
	var paths []string
	for _, r := range requests {
		paths = append(paths, r.Path)
		if r.Header.Get("User-Agent") != "counted/1.0" || r.Protocol != "HTTP/2.0" || r.Time.IsZero() {
			t.Errorf("%+v", r)
		}
	}
	slices.Sort(paths)
	if want := []string{"domain/a.example", "domain/b.example", "domain/c.example", "domain/d.example"}; !slices.Equal(paths, want) {
		t.Errorf("%q", paths)
	}

	s.CloseConnections()
	if _, err := lookup(t, c, client.TypeDomain, "e.example"); err != nil {
		t.Error(err)
	}
	if again := s.Counts(); again.Connections == n.Connections {
		t.Errorf("after CloseConnections: %+v", again)
	}
}

// TestMemoryServer waits for a rate limit on the clock of a bubble.
func TestMemoryServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := rdapqtest.NewMemoryServer(t, nil)
		s.SetFaults("*", rdapqtest.First(1, rdapqtest.RateLimit(0, time.Hour)))
		c := newClient(t, s, func(c *client.Config) { c.MaxWait = 2 * time.Hour })
		begin := time.Now()
		if r, err := lookup(t, c, client.TypeDomain, "a.example"); err != nil || r.Attempts != 2 {
			t.Errorf("%v, %v", r, err)
		}
		if waited := time.Since(begin); waited < time.Hour || waited > time.Hour+time.Minute {
			t.Errorf("waited for %v", waited)
		}
	})
}

// TestCertificatePEM uses the server as another process would.
func TestCertificatePEM(t *testing.T) {
	s := rdapqtest.NewServer(t, nil)
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(s.CertificatePEM()) {
		t.Fatal("not a certificate")
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	t.Cleanup(transport.CloseIdleConnections)
	resp, err := transport.RoundTrip(newRequest(t, s.URL()+"help"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != http.StatusOK || len(body) == 0 {
		t.Errorf("%d %q, %v", resp.StatusCode, body, err)
	}
}
