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

// version is that of the sidecar and of what rows mean.
const version = 1

// An Input tells whether an input is what it was.
type Input struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"` // octets
	SHA256 string `json:"sha256"`
}

// Fingerprint reads a file to its end and tells what is in it.
func Fingerprint(name string, r io.Reader) (*Input, error) {
	h := sha256.New()
	n, err := io.Copy(h, r)
	if err != nil {
		return nil, err
	}
	return &Input{Name: name, Size: n, SHA256: hex.EncodeToString(h.Sum(nil))}, nil
}

// A sidecar says what the rows of a journal are of.
type sidecar struct {
	Complete  bool     `json:"complete"` // these two first: they are overwritten in place
	Rows      int64    `json:"rows"`     // of a complete journal
	Kind      string   `json:"kind"`
	Version   int      `json:"version"`
	Format    string   `json:"format"`
	Input     *Input   `json:"input"` // null: it could not be read twice
	Flags     []string `json:"flags"`
	FlagsHash string   `json:"flags_sha256"`
	// Salt and Secrets are there if a flag has a secret: the names of such flags,
	// each with the SHA-256 of salt and flag.
	Salt    string            `json:"salt,omitempty"`
	Secrets map[string]string `json:"secret_flags_sha256,omitempty"`
}

const kind = "rdapq journal"

// sidecar is what the sidecar of such a journal says. An empty salt means a new
// one.
func (o *Options) sidecar(salt string) sidecar {
	h := sha256.Sum256([]byte(strings.Join(o.Flags, "\n")))
	s := sidecar{
		Kind: kind, Version: version, Format: string(o.Format),
		Input: o.Input, Flags: o.Flags, FlagsHash: hex.EncodeToString(h[:]),
	}
	if len(o.SecretFlags) == 0 {
		return s
	}
	s.Salt, s.Secrets = cmp.Or(salt, rand.Text()), make(map[string]string)
	for _, flag := range o.SecretFlags {
		name, _, _ := strings.Cut(flag, "=")
		h := sha256.Sum256([]byte(s.Salt + flag))
		s.Secrets[name] += hex.EncodeToString(h[:])
	}
	return s
}

// The head of a sidecar is always of the same length, so that a small write can
// change it.
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

// errNoSidecar says that a file is none, not even one that breaks off.
var errNoSidecar = errors.New("not a journal sidecar")

// readSidecar reads what f holds. It is nil for a file that is empty or breaks
// off, as one does whose writer was killed.
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

// A ChangedError says that a run is not the one that wrote the rows.
type ChangedError struct {
	What   string // what is not as it was, in a few words
	Detail string // then and now
}

func (e *ChangedError) Error() string {
	if e.Detail == "" {
		return e.What
	}
	return e.What + ": " + e.Detail
}

// compare returns why rows of was can't be continued by now.
func compare(was, now *sidecar) error {
	switch {
	case was.Version != version:
		return &ChangedError{"written by an incompatible version of rdapq", ""}
	case was.Format != now.Format:
		return &ChangedError{"the format has changed", was.Format + " before, " + now.Format + " now"}
	case was.Input == nil || now.Input == nil:
		return &ChangedError{"the input cannot be compared", "resuming needs a file that can be read twice"}
	case was.Input.Size != now.Input.Size:
		had := was.Input.Name + " had " + strconv.FormatInt(was.Input.Size, 10) + " bytes"
		if now.Input.Name != was.Input.Name {
			had += ", " + now.Input.Name
		} else {
			had += " and now"
		}
		return &ChangedError{"the input has changed", had + " has " + strconv.FormatInt(now.Input.Size, 10)}
	case was.Input.SHA256 != now.Input.SHA256:
		return &ChangedError{"the input has changed", now.Input.Name + " has the size of " + was.Input.Name + ", but different content"}
	case !maps.Equal(was.Secrets, now.Secrets):
		return &ChangedError{"flags have changed", changedSecrets(was.Secrets, now.Secrets)}
	case was.FlagsHash != now.FlagsHash:
		return &ChangedError{"flags have changed", difference(was.Flags, now.Flags)}
	}
	return nil
}

// changedSecrets names the flags with a secret that differ.
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

// difference tells in words which flags are not in both lists.
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
