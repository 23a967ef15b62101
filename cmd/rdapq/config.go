package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/pflag"
)

// configVariable is the name of the variable with the path of the configuration file. If the
// variable is set and empty, no file is read.
const configVariable = "RDAPQ_CONFIG"

// fromConfig sets flags from the configuration file, by default rdapq/config in
// [os.UserConfigDir], unless the command line or a variable has set them. Values for repeatable
// flags precede the other values, so the others take precedence.
func (s *settings) fromConfig(f *pflag.FlagSet) error {
	name, given := os.LookupEnv(configVariable)
	if !given {
		dir, err := os.UserConfigDir()
		if err != nil {
			return nil // no home directory means no file
		}
		name = filepath.Join(dir, "rdapq", "config")
	}
	if name == "" {
		return nil
	}
	file, err := os.Open(name)
	switch {
	case isMissing(err) && !given:
		return nil
	case err != nil:
		return usagef(nil, "", "cannot read the configuration: %w", err)
	}
	defer file.Close()
	return s.readConfig(f, file, name)
}

// isMissing reports whether err means that the file does not exist. ENOTDIR counts too, because
// the home directory may be /dev/null.
func isMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// stripComment removes a comment: "#" at the start of a line or after white space.
func stripComment(line string) string {
	for i, c := range line {
		if c == '#' && (i == 0 || line[i-1] == ' ' || line[i-1] == '\t') {
			return line[:i]
		}
	}
	return line
}

// readConfig parses lines such as "per-host = 4". A name without a value turns a switch
// on.
func (s *settings) readConfig(f *pflag.FlagSet, r io.Reader, name string) error {
	given := map[string]bool{}
	f.VisitAll(func(flag *pflag.Flag) { given[flag.Name] = flag.Changed })
	repeated := map[string][]string{}
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(stripComment(lines.Text()))
		if line == "" {
			continue
		}
		key, value, has := strings.Cut(line, "=")
		key, value = strings.TrimPrefix(strings.TrimSpace(key), "--"), strings.TrimSpace(value)
		flag := f.Lookup(key)
		if flag == nil || !isSetting(flag) {
			hint := "settings have the same names as flags; see 'rdapq --help'"
			if first, _, more := strings.Cut(key, " "); more && f.Lookup(first) != nil {
				hint = "write settings as " + first + " = VALUE"
			}
			return usagef(nil, hint, "%s:%d: unknown setting %q", name, n, key)
		}
		if !has {
			value = flag.NoOptDefVal
		}
		set := setting{flag: flag, value: value, place: fmt.Sprintf("%s:%d", name, n), file: true}
		switch {
		case value == "":
			return usagef(nil, "", "%s: missing value", set.place)
		case flag.Value.Type() == "stringArray":
			repeated[key] = append(repeated[key], value)
			set.also = given[key]
			s.add(set)
		case !given[key]:
			if err := badValue(key+" in "+set.place, f.Set(key, value)); err != nil {
				return err
			}
			s.add(set)
		}
	}
	if err := lines.Err(); err != nil {
		return usagef(nil, "", "cannot read the configuration %s: %w", name, err)
	}
	for key, values := range repeated {
		flag := f.Lookup(key)
		list := flag.Value.(pflag.SliceValue) // repeatable guarantees this type
		if err := list.Replace(append(values, list.GetSlice()...)); err != nil {
			return usagef(nil, "", "%s: %s: %w", name, key, err)
		}
		flag.Changed = true
	}
	return nil
}
