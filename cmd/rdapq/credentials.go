package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/rdapq/rdapq/client"
)

// credentialsVariable is the name of the environment variable that replaces the credentials
// file.
const credentialsVariable = "RDAPQ_CREDENTIALS"

// credentials reads the credentials from the variable, or else from the file. There is no flag
// for credentials, because command lines are visible to other users.
func (a *app) credentials() (map[string]*client.Credential, error) {
	list, err := readCredentials()
	if err != nil || len(list) == 0 {
		return nil, err
	}
	if a.opts.insecure && !a.opts.insecureCredentials {
		a.warn("credentials are not sent because certificates are not verified (--insecure); use --insecure-credentials to send them anyway")
		return nil, nil
	}
	return list, nil
}

func readCredentials() (map[string]*client.Credential, error) {
	if text := os.Getenv(credentialsVariable); text != "" {
		list, err := client.ParseCredentials(strings.NewReader(text))
		if err != nil {
			return nil, usagef(nil, "", "$%s: %w", credentialsVariable, err)
		}
		return list, nil
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return nil, nil // no home directory means no file
	}
	name := filepath.Join(dir, "rdapq", "credentials")
	f, err := os.Open(name)
	if isMissing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, usagef(nil, "", "cannot read the credentials: %w", err)
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return nil, usagef(nil, "chmod 600 "+name, "%s is readable by other users", name)
	}
	list, err := client.ParseCredentials(f)
	if err != nil {
		return nil, usagef(nil, "", "%s: %w", name, err)
	}
	return list, nil
}
