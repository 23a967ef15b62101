package client

import (
	"context"
	"errors"
	"iter"
)

// ErrIncomplete is what [Client.Search] yields at last when the results are not
// complete: SearchConfig.MaxResults was reached, or a page could not be read.
var ErrIncomplete = errors.New("the results are not complete")

// Search asks what [Client.Lookup] asks, and yields the answer page by page as
// pages come, without keeping any. An error comes last and alone: when there is no
// answer, an *[Error], also for a 404; and after the pages that could be read, one
// that wraps [ErrIncomplete] and the [*Error] of the page that could not. Breaking
// out of the loop asks for no more. A query that finds one object, or is no search,
// yields that answer as its only page; its links are not followed.
func (c *Client) Search(ctx context.Context, q Query) iter.Seq2[*Page, error] {
	return func(yield func(*Page, error) bool) {
		r := &Result{Query: c.registrable(q)}
		servers, err := c.resolve(ctx, r.Query)
		if err != nil {
			yield(nil, err)
			return
		}
		gone := false
		t := c.newTask(r, servers)
		if q.Search != nil {
			t.search = &search{each: func(p *Page) bool {
				gone = !yield(p, nil)
				return !gone
			}}
		}
		func() {
			defer t.memory.release(t) // also when the consumer panics
			c.complete(ctx, t)
		}()
		switch {
		case gone:
		case r.failure() != nil || r.Err != nil:
			yield(nil, r.Err)
		case r.Paging == nil:
			yield(&Page{Number: 1, URL: r.URL, Raw: r.Raw, Paging: Paging{Complete: true}}, nil)
		case !r.Paging.Complete:
			yield(nil, &incompleteError{"the results are not complete: after " + counted(r.Paging.Results) + " " + r.Paging.Stopped, r.Paging.Err})
		}
	}
}

type incompleteError struct {
	why   string
	cause *Error // nil: no page failed
}

func (e *incompleteError) Error() string { return e.why }

func (e *incompleteError) Unwrap() []error {
	if e.cause == nil {
		return []error{ErrIncomplete}
	}
	return []error{ErrIncomplete, e.cause}
}
