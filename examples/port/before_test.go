package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/openrdap/rdap"
)

// lookupBefore is lookup as it was written for openrdap's Client. Its Client is not safe for
// concurrent use.
func lookupBefore(ctx context.Context, c *rdap.Client, server *url.URL, name string) (*rdap.Domain, error) {
	req := &rdap.Request{Type: rdap.DomainRequest, Query: name, Server: server}
	resp, err := c.Do(req.WithContext(ctx))
	if e, ok := errors.AsType[*rdap.ClientError](err); ok && e.Type == rdap.ObjectDoesNotExist {
		return nil, errNotFound
	}
	if err != nil {
		return nil, err
	}
	d, ok := resp.Object.(*rdap.Domain)
	if !ok {
		return nil, fmt.Errorf("response is not a domain: %T", resp.Object)
	}
	return d, nil
}
