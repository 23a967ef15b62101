package journal

import (
	"bytes"
	"errors"
	"os"
	"testing"
)

// TestInterference changes the files of an open journal. The next flush reports the change, or
// else Complete or Close reports it.
func TestInterference(t *testing.T) {
	try := func(err error) {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
	}
	for name, do := range map[string]func(path string){
		"removed":         func(path string) { try(os.Remove(path)) },
		"renamed":         func(path string) { try(os.Rename(path, path+".1")) },
		"sidecar removed": func(path string) { try(os.Remove(path + SidecarSuffix)) },
		"replaced": func(path string) {
			data, err := os.ReadFile(path)
			try(err)
			try(os.WriteFile(path+".new", data, 0o600))
			try(os.Rename(path+".new", path))
		},
		"emptied":   func(path string) { try(os.Truncate(path, 0)) },
		"truncated": func(path string) { try(os.Truncate(path, 30)) },
		"appended to": func(path string) {
			f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
			try(err)
			_, err = f.WriteString("not ours\n")
			try(errors.Join(err, f.Close()))
		},
	} {
		for _, ordered := range []bool{false, true} {
			for _, end := range []string{"flush", "complete", "close"} {
				o := options(t.TempDir(), NDJSON, ordered)
				j, err := Open(o.Path, o.Config)
				try(err)
				for line := range int64(2) {
					_, err := j.Begin(line + 1)
					try(err)
					try(j.Write(line+1, makeRow(NDJSON, line+1, "registered")))
				}
				try(j.Flush())
				do(o.Path)
				before, _ := os.ReadFile(o.Path) // the file may have been removed
				switch end {
				case "flush":
					_, err = j.Begin(3)
					try(err)
					try(j.Write(3, makeRow(NDJSON, 3, "registered")))
					err = j.Flush()
					if _, ok := errors.AsType[*InterferenceError](j.Close()); !ok {
						t.Errorf("%s, %s: Close does not report it again", name, end)
					}
				case "complete":
					err = j.Complete()
					j.Close()
				case "close":
					err = j.Close()
				}
				if _, ok := errors.AsType[*InterferenceError](err); !ok {
					t.Errorf("%s, noticed by %s: %v", name, end, err)
				}
				if after, _ := os.ReadFile(o.Path); !bytes.Equal(before, after) {
					t.Errorf("%s, noticed by %s: what the other program left was written to", name, end)
				}
			}
		}
	}
}
