package rdapqtest_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"testing"
	"time"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/rdapqtest"
)

// An exampleT is a testing.TB for the examples, which have no *testing.T.
type exampleT struct {
	testing.TB
	cleanups []func()
}

func (t *exampleT) Helper()          {}
func (t *exampleT) Cleanup(f func()) { t.cleanups = append(t.cleanups, f) }
func (t *exampleT) Fatal(a ...any)   { log.Fatal(a...) }
func (t *exampleT) Error(a ...any)   { log.Print(a...) }

func (t *exampleT) end() {
	for i := len(t.cleanups) - 1; i >= 0; i-- {
		t.cleanups[i]()
	}
}

// isTaken is the code that the example tests.
func isTaken(ctx context.Context, c *client.Client, name string) (bool, error) {
	q, err := client.ParseAs(client.TypeDomain, name)
	if err != nil {
		return false, err
	}
	r, err := c.Lookup(ctx, q)
	if err != nil {
		return false, err
	}
	return r.Verdict == client.VerdictRegistered, nil
}

func ExampleNewServer() {
	t := new(exampleT) // in a test, this is a *testing.T
	defer t.end()

	s := rdapqtest.NewServer(t, map[string][]byte{
		"domain/taken.example": rdapqtest.Domain{Name: "taken.example"}.JSON(),
	})
	c, err := client.New(s.Config())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()

	fmt.Println(isTaken(context.Background(), c, "taken.example"))
	fmt.Println(isTaken(context.Background(), c, "other.example"))
	fmt.Println(s.Counts().Requests, "requests,", s.Counts().Connections, "connection")
	// Output:
	// true <nil>
	// false <nil>
	// 2 requests, 1 connection
}

func ExampleServer_SetFaults() {
	t := new(exampleT) // in a test, this is a *testing.T
	defer t.end()

	s := rdapqtest.NewServer(t, map[string][]byte{
		"domain/taken.example": rdapqtest.Domain{Name: "taken.example"}.JSON(),
	})
	config := s.Config()
	config.MaxWait = -1 // report a rate limit immediately
	c, err := client.New(config)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()

	s.SetFaults("domain/*", rdapqtest.RateLimit(1, time.Minute))
	for range 2 {
		taken, err := isTaken(context.Background(), c, "taken.example")
		if e, ok := errors.AsType[*client.Error](err); ok {
			fmt.Println(e.Code, e.RetryAfter > 50*time.Second)
			continue
		}
		fmt.Println(taken)
	}
	// Output:
	// true
	// rate_limited true
}
