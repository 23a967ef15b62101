package journal

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
)

// version is the version of the sidecar and of the meaning of rows.
const version = 1

// An Input identifies the content of an input.
type Input struct {
	Name   string `json:"name"` // for messages
	Size   int64  `json:"size"` // size in bytes
	SHA256 string `json:"sha256"`
}

// Fingerprint reads an input to its end and identifies its content. For an input that is
// not a file, such as the result of a query, read a text that has everything that
// determines the rows.
func Fingerprint(name string, r io.Reader) (*Input, error) {
	h := sha256.New()
	n, err := io.Copy(h, r)
	if err != nil {
		return nil, err
	}
	return &Input{Name: name, Size: n, SHA256: hex.EncodeToString(h.Sum(nil))}, nil
}

// A sidecar identifies the input and the flags of the rows of a journal.
type sidecar struct {
	Complete  bool     `json:"complete"` // Complete and Rows are first, because they are overwritten in place
	Rows      int64    `json:"rows"`     // number of rows of a complete journal
	Kind      string   `json:"kind"`
	Version   int      `json:"version"`
	Format    string   `json:"format"`
	Input     *Input   `json:"input"` // identifies the input; null if it cannot be read twice
	Flags     []string `json:"flags"`
	FlagsHash string   `json:"flags_sha256"`
	// Secrets maps the names of flags with secrets to the SHA-256 of salt and flag.
	Salt    string            `json:"salt,omitempty"`
	Secrets map[string]string `json:"secret_flags_sha256,omitempty"`
}

const kind = "rdapq journal"

// sidecar returns the sidecar of a journal with this configuration. If salt is empty, the
// sidecar gets a new salt.
func (o *Config) sidecar(salt string) sidecar {
	h := sha256.Sum256([]byte(strings.Join(o.Settings, "\n")))
	s := sidecar{
		Kind: kind, Version: version, Format: string(o.Format),
		Input: o.Input, Flags: o.Settings, FlagsHash: hex.EncodeToString(h[:]),
	}
	if len(o.SecretSettings) == 0 {
		return s
	}
	s.Salt, s.Secrets = cmp.Or(salt, rand.Text()), make(map[string]string)
	for _, flag := range o.SecretSettings {
		name, _, _ := strings.Cut(flag, "=")
		h := sha256.Sum256([]byte(s.Salt + flag))
		s.Secrets[name] += hex.EncodeToString(h[:])
	}
	return s
}

// sidecarHead starts a sidecar. Its first members have a fixed length, so that one
// small write can change them.
const sidecarHead = `{"complete":`

func sidecarMark(complete bool, rows int64) string {
	return fmt.Sprintf(sidecarHead+`%-5t,"rows":%-19d,`, complete, rows)
}

func (s *sidecar) bytes() ([]byte, error) {
	s.Complete, s.Rows = false, 0
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(s)
	rest := bytes.TrimPrefix(b.Bytes(), []byte(sidecarHead+`false,"rows":0,`))
	return append([]byte(sidecarMark(false, 0)), rest...), err
}

// errNoSidecar reports that a file is not a sidecar, not even a truncated one.
var errNoSidecar = errors.New("not a journal sidecar")

// readSidecar reads f. It returns nil for an empty or truncated file, which a killed
// process may leave.
func readSidecar(f *os.File) (*sidecar, error) {
	data, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<20))
	if err != nil {
		return nil, err
	}
	begun := data[:min(len(data), len(sidecarHead))]
	if !strings.HasPrefix(sidecarHead, string(begun)) {
		return nil, errNoSidecar
	}
	if !bytes.HasSuffix(data, []byte("\n")) {
		return nil, nil
	}
	var s sidecar
	if err := json.Unmarshal(data, &s); err != nil || s.Kind != kind {
		return nil, errNoSidecar
	}
	return &s, nil
}

// A Change is what differs between two runs of a journal.
type Change string

// Changes of a [ChangedError].
const (
	ChangedVersion  Change = "version"  // a newer version wrote the journal
	ChangedFormat   Change = "format"   // Config.Format
	ChangedInput    Change = "input"    // Config.Input
	ChangedNoInput  Change = "no input" // Config.Input is nil, or was: it cannot be compared
	ChangedSettings Change = "settings" // Config.Settings or Config.SecretSettings
	ChangedColumns  Change = "columns"  // Config.Header
)

// A ChangedError reports that a run differs from the run that wrote the rows. To resume,
// pass the earlier configuration. To start over, set Config.Overwrite.
type ChangedError struct {
	What   Change
	Detail string // the difference, for people; may be empty
}

func (e *ChangedError) Error() string {
	text := ""
	switch e.What {
	case ChangedVersion:
		text = "written by an incompatible version of rdapq"
	case ChangedNoInput:
		text = "the input cannot be compared"
	case ChangedInput, ChangedFormat:
		text = "the " + string(e.What) + " has changed"
	default:
		text = "the " + string(e.What) + " have changed"
	}
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	return text
}

// compare returns nil if a run can resume from the rows of another run, and otherwise the
// reason why not.
func compare(was, now *sidecar) error {
	switch {
	case was.Version != version:
		return &ChangedError{ChangedVersion, ""}
	case was.Format != now.Format:
		return &ChangedError{ChangedFormat, was.Format + " before, " + now.Format + " now"}
	case was.Input == nil || now.Input == nil:
		return &ChangedError{ChangedNoInput, "resuming needs a file that can be read twice"}
	case was.Input.Size != now.Input.Size:
		had := was.Input.Name + " had " + strconv.FormatInt(was.Input.Size, 10) + " bytes"
		if now.Input.Name != was.Input.Name {
			had += ", " + now.Input.Name
		} else {
			had += " and now"
		}
		return &ChangedError{ChangedInput, had + " has " + strconv.FormatInt(now.Input.Size, 10)}
	case was.Input.SHA256 != now.Input.SHA256:
		return &ChangedError{ChangedInput, now.Input.Name + " has the size of " + was.Input.Name + ", but different content"}
	case !maps.Equal(was.Secrets, now.Secrets):
		return &ChangedError{ChangedSettings, changedSecrets(was.Secrets, now.Secrets)}
	case was.FlagsHash != now.FlagsHash:
		return &ChangedError{ChangedSettings, difference(was.Flags, now.Flags)}
	}
	return nil
}

// changedSecrets names the flags whose secrets differ.
func changedSecrets(was, now map[string]string) string {
	names := make(map[string]bool)
	for _, m := range []map[string]string{was, now} {
		for name := range m {
			if was[name] != now[name] {
				names[name] = true
			}
		}
	}
	return "the secret in " + strings.Join(slices.Sorted(maps.Keys(names)), ", ") + " differs"
}

// difference describes the flags that are not in both lists.
func difference(was, now []string) string {
	var parts []string
	for _, d := range []struct {
		a, b []string
		when string
	}{{was, now, "before"}, {now, was, "now"}} {
		var only []string
		for _, f := range d.a {
			if !slices.Contains(d.b, f) {
				only = append(only, f)
			}
		}
		if len(only) == 0 {
			only = []string{"(unset)"}
		}
		parts = append(parts, strings.Join(only, " ")+" "+d.when)
	}
	return strings.Join(parts, ", ")
}
