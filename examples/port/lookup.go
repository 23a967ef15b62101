package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/openrdap/rdap"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/openrdap"
)

// errNotFound means that the registry has no such domain.
var errNotFound = errors.New("no such domain")

// lookup looks up a domain, and returns it in the types of openrdap.
func lookup(ctx context.Context, c *client.Client, name string) (*rdap.Domain, error) {
	q, err := client.ParseAs(client.TypeDomain, name)
	if err != nil {
		return nil, err
	}
	r, err := c.Lookup(ctx, q)
	if err != nil {
		return nil, err
	}
	if r.Verdict == client.VerdictNotFound { // openrdap: an error
		return nil, errNotFound
	}
	object, err := openrdap.Object(r.Raw)
	if err != nil {
		return nil, err
	}
	d, ok := object.(*rdap.Domain)
	if !ok {
		return nil, fmt.Errorf("response is not a domain: %T", object)
	}
	return d, nil
}
