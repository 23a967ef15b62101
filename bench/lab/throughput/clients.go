package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

const (
	atOnce = "100"
	base   = "https://localhost/"
)

// A client is a program that looks up all names.
type client struct {
	title string
	argv  []string
	check func(out string) error
}

// clients returns the clients and writes their inputs. The first is the reference.
func (s settings) clients() ([]client, error) {
	var queries, urls, config strings.Builder
	files := filepath.Join(s.out, "curl")
	for i := range s.n {
		name := fmt.Sprintf("any%d.example", i)
		fmt.Fprintln(&queries, name)
		fmt.Fprintf(&urls, "%sdomain/%s\n", base, name)
		fmt.Fprintf(&config, "url=%sdomain/%s\noutput=%s/%s\n", base, name, files, name)
	}
	if err := os.Mkdir(files, 0o755); err != nil {
		return nil, err
	}
	inputs := map[string]string{"queries": queries.String(), "urls": urls.String(), "curl.conf": config.String()}
	for file, text := range inputs {
		if err := os.WriteFile(filepath.Join(s.out, file), []byte(text), 0o644); err != nil {
			return nil, err
		}
	}
	ca := filepath.Join(s.dir, "ca.pem")
	n := strconv.Itoa(s.n)
	reference := func(title string, flags ...string) client {
		argv := []string{
			filepath.Join(s.bin, "client"), "-ca", ca, "-url", base + "domain/any%d.example", "-domains", n,
			"-n", n, "-c", atOnce, "-gzip=false",
		}
		// the program reports failures itself
		return client{title, append(argv, flags...), func(string) error { return nil }}
	}
	return []client{
		{"h2load, one connection", []string{"h2load", "-n", n, "-c", "1", "-m", atOnce, "-i", filepath.Join(s.out, "urls")}, s.h2loadCheck},
		reference("the lab's client, HTTP/2, one connection", "-conns", "1"),
		reference("the lab's client, HTTP/2, four connections", "-conns", "4"),
		s.rdapq("rdapq, HTTP/2", "--http", "2"),
		s.rdapq("rdapq, HTTP/2, one connection", "--http", "2", "--min-handshakes"),
		s.rdapq("rdapq, HTTP/1.1", "--http", "1.1"),
		{"curl --parallel, HTTP/2", []string{
			"curl", "--no-progress-meter", "--cacert", ca, "--http2", "--parallel", "--parallel-max", atOnce,
			"-w", "%{http_code}\\n", "-K", filepath.Join(s.out, "curl.conf"),
		}, s.curlCheck},
	}, nil
}

func (s settings) rdapq(title string, flags ...string) client {
	rows, stats := filepath.Join(s.out, "rows"), filepath.Join(s.out, "stats")
	argv := []string{
		filepath.Join(s.bin, "rdapq"), "-s", base, "--ca", filepath.Join(s.dir, "ca.pem"), "--format", "ndjson",
		"--per-host", atOnce, "-j", atOnce, "-f", filepath.Join(s.out, "queries"), "-o", rows, "--stats-file", stats,
	}
	return client{title, append(argv, flags...), func(string) error {
		text, err := os.ReadFile(stats)
		if err != nil {
			return err
		}
		var said struct {
			Requests int
			Verdicts map[string]int
		}
		if err := json.Unmarshal(text, &said); err != nil {
			return err
		}
		if said.Requests != s.n || said.Verdicts["registered"] != s.n {
			return fmt.Errorf("%d requests and %d results for %d lookups", said.Requests, said.Verdicts["registered"], s.n)
		}
		return os.Remove(rows)
	}}
}

func (s settings) curlCheck(out string) error {
	if got := strings.Count(out, "200\n"); got != s.n {
		return fmt.Errorf("%d of %d lookups were answered", got, s.n)
	}
	return nil
}

func (s settings) h2loadCheck(out string) error {
	if !strings.Contains(out, fmt.Sprintf(" %d succeeded,", s.n)) {
		return fmt.Errorf("some lookups were not answered: %s", out)
	}
	return nil
}
