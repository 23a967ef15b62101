package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// A setting is the value of a flag that the command line did not give.
type setting struct {
	flag  *pflag.Flag
	value string
	place string // where it is from, in words
	file  bool   // which is the configuration file
	also  bool   // the command line has other values of this flag
}

// settings are all of a run, for errors to say whose fault they are.
type settings []setting

// read sets the flags that the command line left alone: variables go before the
// configuration file.
func (s *settings) read(f *pflag.FlagSet) error {
	if err := s.fromEnvironment(f); err != nil {
		return err
	}
	return s.fromConfig(f)
}

// fromEnvironment sets the flags that the command line left alone from
// RDAPQ_* variables: --per-host from RDAPQ_PER_HOST. Empty ones count as unset,
// and RDAPQ_VERSION is a name that people give to what they install.
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

// attribute adds to an error which of the flags that it is about were not given on
// the command line, and where they were set.
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

// add notes a setting. It takes the place of an earlier one of its flag, unless
// both hold.
func (s *settings) add(set setting) {
	if _, repeats := set.flag.Value.(pflag.SliceValue); !repeats {
		*s = slices.DeleteFunc(*s, set.ofSameFlag)
	}
	*s = append(*s, set)
}

// badValue is an error of a value that a flag does not take, under the name by
// which it was given.
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
