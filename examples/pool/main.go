// Command pool lists the repositories of an organization with go-github. The requests for
// OAuth 2 tokens and those of the API share the connections of a pool.Pool, which reports how
// many TLS handshakes that avoided.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/signal"

	"github.com/google/go-github/v75/github"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/rdapq/rdapq/pool"
)

func main() {
	api := flag.String("api", "https://api.github.com/", "base `URL` of the API")
	token := flag.String("token-url", "", "`URL` of the token endpoint; empty: no token")
	org := flag.String("org", "golang", "`name` of the organization")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	credentials := clientcredentials.Config{
		ClientID: os.Getenv("CLIENT_ID"), ClientSecret: os.Getenv("CLIENT_SECRET"), TokenURL: *token,
	}
	if err := run(ctx, os.Stdout, pool.Config{}, *api, credentials, *org); err != nil {
		fmt.Fprintln(os.Stderr, "pool:", err)
		os.Exit(1)
	}
}

// run prints the names of the repositories of org, and the connections that took.
func run(ctx context.Context, w io.Writer, c pool.Config, api string, credentials clientcredentials.Config, org string) (err error) {
	p, err := pool.New(c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	client, err := newClient(ctx, p, api, credentials)
	if err != nil {
		return err
	}
	opts := &github.RepositoryListByOrgOptions{}
	for {
		repositories, resp, err := client.Repositories.ListByOrg(ctx, org, opts)
		if err != nil {
			return err
		}
		for _, r := range repositories {
			fmt.Fprintln(w, r.GetName())
		}
		if opts.Page = resp.NextPage; opts.Page == 0 {
			break
		}
	}
	st := p.Stats()
	fmt.Fprintf(w, "%d requests, %d connections, %d handshakes avoided\n", st.Requests, st.Connections, st.Handshakes.Avoided)
	return nil
}

// newClient returns a client of the API at a base URL. The Pool carries its requests, and those
// for tokens.
func newClient(ctx context.Context, p *pool.Pool, api string, credentials clientcredentials.Config) (*github.Client, error) {
	base, err := url.Parse(api)
	if err != nil {
		return nil, err
	}
	transport := http.RoundTripper(p)
	if credentials.TokenURL != "" {
		ctx = context.WithValue(ctx, oauth2.HTTPClient, &http.Client{Transport: p})
		transport = &oauth2.Transport{Source: credentials.TokenSource(ctx), Base: p}
	}
	client := github.NewClient(&http.Client{Transport: transport})
	client.BaseURL = base
	return client, nil
}
