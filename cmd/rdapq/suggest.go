package main

import (
	"errors"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// flagError turns an error of pflag into a usage error, and suggests a flag with a
// similar name.
func flagError(cmd *cobra.Command, err error) error {
	if bad, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return badValue("--"+bad.GetFlag().Name, err)
	}
	hint := "run '" + cmd.CommandPath() + " --help' for all flags"
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		if flag := suggested(cmd.Flags(), unknown.GetSpecifiedName()); flag != "" {
			hint = "did you mean --" + flag + "? " + hint
		}
	}
	return usagef(nil, hint, "%w", err)
}

// suggested returns the flag with the most similar name, or --format with a format of that
// name. It returns "" if no flag is similar.
func suggested(flags *pflag.FlagSet, name string) string {
	for _, format := range formats { // other programs have flags such as --json
		if name == format && flags.Lookup("format") != nil {
			return "format " + format
		}
	}
	best, least := "", 3
	flags.VisitAll(func(f *pflag.Flag) {
		// A third of the letters may differ.
		if d := distance(name, f.Name); !f.Hidden && d < least && d*3 <= len(name) {
			best, least = f.Name, d
		}
	})
	return best
}

// distance returns the Levenshtein distance of a and b in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
