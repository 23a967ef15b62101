package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// A setting is the value of a flag that the command line did not give.
type setting struct {
	flag  *pflag.Flag
	value string
	place string // where it is from, in words
	file  bool   // which is the configuration file
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
		place := "the variable " + name
		if err = badValue(place, f.Set(flag.Name, value)); err == nil {
			s.add(setting{flag: flag, value: value, place: place})
		}
	})
	return err
}

// namesOnly are flags whose value stands in errors without their name.
var namesOnly = []string{
	"file", "column", "output", "stats-file", "report", "ca", "bootstrap-overrides", "registrars", "client-cert-password-file",
}

// blame says with an error which of the flags that it is about were not given on
// the command line, and where they were set.
func (s settings) blame(err error) error {
	text := err.Error()
	named := mentioned(s, text)
	if len(named) == 0 {
		for _, name := range namesOnly {
			for _, set := range s {
				if set.flag.Name == name && set.standsIn(text) {
					named = append(named, set)
				}
			}
		}
	}
	if len(named) == 0 {
		return err
	}
	parts := make([]string, len(named))
	for i, set := range named {
		parts[i] = "--" + set.flag.Name + " is from " + set.place
		if set.flag.Value.Type() == "bool" && set.value != "false" {
			parts[i] += ", --" + set.flag.Name + "=false turns it off"
		}
	}
	return fmt.Errorf("%w (%s)", err, strings.Join(parts, "; "))
}

// standsIn reports whether the value is in a text by itself: files often have a
// part of their name in common with others, columns with any word.
func (s setting) standsIn(text string) bool {
	if s.flag.Name == "column" {
		return strings.Contains(text, strconv.Quote(s.value))
	}
	for rest := text; ; {
		before, after, ok := strings.Cut(rest, s.value)
		if !ok {
			return false
		}
		start := len(text) - len(rest) + len(before)
		if !inPath(text, start-1) && !inPath(after, 0) {
			return true
		}
		rest = text[start+1:]
	}
}

// inPath reports whether the octet at i is one that names of files have.
func inPath(text string, i int) bool {
	return inName(text, i) || i >= 0 && i < len(text) && (strings.IndexByte(`./\_~`, text[i]) >= 0 || text[i] >= 0x80)
}

// mentioned are the settings that a text is about.
func mentioned(s settings, text string) settings {
	var list settings
	for i, set := range s {
		if mentions(text, set.flag) && !slices.ContainsFunc(list, set.ofSameFlag) {
			list = append(list, concerned(slices.DeleteFunc(slices.Clone(s[i:]), set.ofOtherFlag), text)...)
		}
	}
	return list
}

func (s setting) ofSameFlag(other setting) bool  { return s.flag == other.flag }
func (s setting) ofOtherFlag(other setting) bool { return s.flag != other.flag }

// concerned are those of the settings of one flag that a text is about: of one that
// can be repeated, those whose value stands there; and if that of the command line
// does, none.
func concerned(s settings, text string) settings {
	list, repeats := s[0].flag.Value.(pflag.SliceValue)
	if !repeats {
		return s
	}
	var there settings
	for _, set := range s {
		if strings.Contains(text, set.value) {
			there = append(there, set)
		}
	}
	if len(there) > 0 {
		return there
	}
	for _, value := range list.GetSlice() {
		isSet := func(set setting) bool {
			return set.value == value || s[0].flag.Value.Type() == "stringSlice" && slices.Contains(strings.Split(set.value, ","), value)
		}
		if strings.Contains(text, value) && !slices.ContainsFunc(s, isSet) {
			return nil
		}
	}
	return s
}

// mentions reports whether a text has the name of a flag, or its letter.
func mentions(text string, f *pflag.Flag) bool {
	names := []string{"--" + f.Name}
	if f.Shorthand != "" {
		names = append(names, "-"+f.Shorthand)
	}
	for _, name := range names {
		for at, rest := 0, text; ; {
			i := strings.Index(rest, name)
			if i < 0 {
				break
			}
			at += i + len(name)
			before, after := text[:at-len(name)], text[at:]
			if !inName(before, len(before)-1) && !inName(after, 0) {
				return true
			}
			rest = after
		}
	}
	return false
}

// inName reports whether the octet at i is one that names of flags have.
func inName(text string, i int) bool {
	if i < 0 || i >= len(text) {
		return false
	}
	c := text[i]
	return c == '-' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

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
		hint = "a time such as 500ms, 15s or 2m"
	case "int", "count":
		hint = "a whole number"
	case "bool":
		hint = "true or false"
	}
	return usagef(hint, "%s does not take %q", name, bad.GetValue())
}
