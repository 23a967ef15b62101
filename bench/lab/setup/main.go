// Setup writes the files for the servers of a lab to a directory. It writes a certificate
// authority (ca.pem), a server certificate with an intermediate (server.pem, server.key), and
// RDAP responses of 4 kB (www/domain/dom0.example and so on). It also writes a configuration
// for nginx, which generates responses for any number of further names (any0.example and so
// on).
package main

import (
	_ "embed"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

//go:embed domain.json
var domainJSON string

//go:embed nginx.conf.tmpl
var nginxConf string

func main() {
	log.SetFlags(0)
	log.SetPrefix("setup: ")
	dir := flag.String("dir", "", "`directory` to fill")
	name := flag.String("name", "rdap.example", "host `name` in the certificate, in addition to localhost")
	count := flag.Int("domains", 1000, "responses to write")
	flag.Parse()
	if *dir == "" {
		log.Fatal("-dir is missing")
	}
	if err := fill(*dir, *name, *count); err != nil {
		log.Fatal(err)
	}
}

func fill(dir, name string, count int) error {
	dir, err := filepath.Abs(dir) // nginx requires an absolute path
	if err != nil {
		return err
	}
	www := filepath.Join(dir, "www", "domain")
	if err := os.MkdirAll(www, 0o755); err != nil {
		return err
	}
	if err := writeCertificates(dir, name); err != nil {
		return err
	}
	for i := range count {
		domain := fmt.Sprintf("dom%d.example", i)
		body := strings.ReplaceAll(strings.TrimSpace(domainJSON), "{{name}}", domain)
		if err := os.WriteFile(filepath.Join(www, domain), []byte(body), 0o644); err != nil {
			return err
		}
	}
	f, err := os.Create(filepath.Join(dir, "nginx.conf"))
	if err != nil {
		return err
	}
	err = template.Must(template.New("").Parse(nginxConf)).Execute(f, map[string]any{"Dir": dir, "Any": nginxStrings(domainJSON)})
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}

// nginxStrings splits a response into strings of at most 4 kB, the limit of nginx. The name is
// a variable in these strings.
func nginxStrings(answer string) []string {
	const most = 3500
	var parts []string
	for rest := strings.TrimSpace(answer); rest != ""; {
		part := rest
		if len(rest) > most {
			part = rest[:strings.LastIndexByte(rest[:most], ',')]
		}
		rest = rest[len(part):]
		part = strings.ReplaceAll(part, "'", `\'`)
		parts = append(parts, "'"+strings.ReplaceAll(part, "{{name}}", "${name}")+"'")
	}
	return parts
}
