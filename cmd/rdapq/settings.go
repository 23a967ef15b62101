package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// A setting is the value of a flag from a variable or the configuration file.
type setting struct {
	flag  *pflag.Flag
	value string
	place string // name of the variable, or file and line
	file  bool   // the configuration file has the value
	also  bool   // the command line has more values of this flag
}

// settings holds all settings of a run, so that errors can name their origin.
type settings []setting

// read sets flags that are not on the command line. Variables take precedence over the
// configuration file.
func (s *settings) read(f *pflag.FlagSet) error {
	if err := s.fromEnvironment(f); err != nil {
		return err
	}
	return s.fromConfig(f)
}

// fromEnvironment sets flags that are not on the command line from variables, such as
// --per-host from RDAPQ_PER_HOST. Empty variables count as unset. RDAPQ_VERSION is ignored,
// because install scripts often set such a variable.
func (s *settings) fromEnvironment(f *pflag.FlagSet) error {
	var err error
	f.VisitAll(func(flag *pflag.Flag) {
		name := "RDAPQ_" + strings.ToUpper(strings.ReplaceAll(flag.Name, "-", "_"))
		value, ok := os.LookupEnv(name)
		if !ok || value == "" || flag.Changed || err != nil || !isSetting(flag) {
			return
		}
		place := "$" + name
		if err = badValue(place, f.Set(flag.Name, value)); err == nil {
			s.add(setting{flag: flag, value: value, place: place})
		}
	})
	return err
}

// attribute adds to an error the variables or lines of the configuration file that set its
// flags.
func (s settings) attribute(err error) error {
	coded, ok := errors.AsType[*codedError](err)
	if !ok {
		return err
	}
	var parts []string
	for _, set := range s {
		if !slices.Contains(coded.flags, set.flag.Name) {
			continue
		}
		part := "--" + set.flag.Name + " is set in " + set.place
		if set.also {
			part = "--" + set.flag.Name + " is also set in " + set.place
		}
		if set.flag.Value.Type() == "bool" && set.value != "false" {
			part += "; use --" + set.flag.Name + "=false to override it"
		}
		parts = append(parts, part)
	}
	if len(parts) == 0 {
		return err
	}
	return fmt.Errorf("%w (%s)", err, strings.Join(parts, "; "))
}

func (s setting) ofSameFlag(other setting) bool { return s.flag == other.flag }

// add adds a setting. It replaces an earlier setting of the same flag, unless the flag is
// repeatable.
func (s *settings) add(set setting) {
	if _, repeats := set.flag.Value.(pflag.SliceValue); !repeats {
		*s = slices.DeleteFunc(*s, set.ofSameFlag)
	}
	*s = append(*s, set)
}

// badValue returns the error for an invalid value of a flag; name is the flag, variable
// or line that has the value.
func badValue(name string, err error) error {
	bad, ok := errors.AsType[*pflag.InvalidValueError](err)
	if !ok {
		return err
	}
	hint := ""
	switch bad.GetFlag().Value.Type() {
	case "duration":
		hint = "use a time such as 500ms, 15s or 2m"
	case "int", "count":
		hint = "use a whole number"
	case "bool":
		hint = "use true or false"
	}
	return usagef(nil, hint, "invalid value %q for %s", bad.GetValue(), name)
}
