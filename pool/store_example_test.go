package pool_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"sync"

	"github.com/rdapq/rdapq/pool"
)

// A database represents Redis or SQL. Its methods would send a command with ctx.
type database struct {
	mu       sync.Mutex
	origins  map[string][]byte
	sessions map[pool.SessionKey][][]byte
}

func (d *database) Get(_ context.Context, origin string) ([]byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.origins[origin], nil
}

func (d *database) Put(_ context.Context, origin string, data []byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.origins[origin] = data
	return nil
}

// A ticketTable is the table of sessions.
type ticketTable struct{ *database }

// Take is like LPOP in Redis: no two machines get the same session.
func (d ticketTable) Take(_ context.Context, key pool.SessionKey) ([]byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := d.sessions[key]
	if len(all) == 0 {
		return nil, nil
	}
	d.sessions[key] = all[1:]
	return all[0], nil
}

// Put is like LPUSH and LTRIM in Redis.
func (d ticketTable) Put(_ context.Context, key pool.SessionKey, session []byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if session == nil {
		delete(d.sessions, key)
		return nil
	}
	all := append([][]byte{session}, d.sessions[key]...)
	d.sessions[key] = all[:min(len(all), 8)]
	return nil
}

// Two machines share TLS sessions, and what they learn about servers, in a database.
func ExampleSessionStore() {
	server := exampleServer()
	defer server.Close()
	shared := &database{origins: make(map[string][]byte), sessions: make(map[pool.SessionKey][][]byte)}

	for machine := range 2 {
		p, err := pool.New(pool.Config{
			TLS: &tls.Config{RootCAs: server.Pool()}, Trust: "our own authority",
			Origins: shared, Sessions: ticketTable{shared},
			Logger: slog.Default(), // logs a warning if the database is down
		})
		if err != nil {
			log.Fatal(err)
		}
		resp, err := (&http.Client{Transport: p}).Get(server.URL() + "domain/courbu.example")
		if err != nil {
			log.Fatal(err)
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		h := p.Stats().Handshakes
		p.Close()
		fmt.Printf("machine %d: %d full, %d resumed\n", machine+1, h.Full, h.Resumed)
	}
	// Output:
	// machine 1: 1 full, 0 resumed
	// machine 2: 0 full, 1 resumed
}
