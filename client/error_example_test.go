package client_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/rdaptest"
)

// Only the verdict of an answered query shows whether a name is taken. An error does not;
// its code suggests how to proceed.
func ExampleError() {
	s, c, done := exampleServer(rdaptest.Config{})
	defer done()
	s.On("/domain/busy.example", rdaptest.Status(429), rdaptest.RetryAfter("3600"))
	s.On("/domain/broken.example", rdaptest.Body("text/html", "<html>maintenance</html>"))

	for _, name := range []string{"alpha.example", "free.example", "broken.example", "busy.example"} {
		q, err := client.Parse(name)
		if err != nil {
			fmt.Println(err)
			continue
		}
		r, err := c.Lookup(context.Background(), q)
		switch {
		case err == nil:
			fmt.Println(name, r.Verdict)
		case errors.Is(err, client.CodeRateLimited):
			fmt.Println(name, r.Verdict, "come back in", r.Refusal.RetryAfter)
		default:
			e, _ := errors.AsType[*client.Error](err)
			fmt.Println(name, r.Verdict, e.Code, e.Retryable())
		}
	}
	// Output:
	// alpha.example registered
	// free.example not_found
	// broken.example failed not_rdap false
	// busy.example rate_limited come back in 1h0m0s
}
