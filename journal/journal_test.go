package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const csvHeader = "line,query,verdict\n"

// testOptions are the arguments of Open.
type testOptions struct {
	Path string
	Config
}

// options returns the options of a journal in a directory.
func options(dir string, f Format, ordered bool) testOptions {
	o := testOptions{filepath.Join(dir, "out"), Config{
		Format: f, Ordered: ordered,
		Input: &Input{Name: "names.txt", Size: 7, SHA256: "abc"}, Settings: []string{"type=domain"},
		Retry:         func(verdict string) bool { return verdict == "failed" },
		FlushInterval: time.Hour, // tests flush explicitly
	}}
	if f == CSV {
		o.Header = []byte(csvHeader)
	}
	return o
}

func makeRow(f Format, line int64, verdict string) []byte {
	if f == CSV {
		return fmt.Appendf(nil, "%d,\"a, \"\"%d\"\"\",%s\n", line, line, verdict)
	}
	return fmt.Appendf(nil, `{"line":%d,"query":"a","verdict":%q,"rdap":{"line":7,"verdict":"failed"}}`+"\n", line, verdict)
}

// lines lists the line numbers of an input with a gap.
var lines = []int64{1, 2, 3, 5, 6, 7, 8}

// finish queries the remaining lines, not in the order of the input, and completes the journal.
// It returns the queried lines.
func finish(t *testing.T, o testOptions) []int64 {
	t.Helper()
	j, err := Open(o.Path, o.Config)
	if err != nil {
		t.Fatal(err)
	}
	var queried []int64
	for _, line := range lines {
		ask, err := j.Begin(line)
		if err != nil {
			t.Fatal(err)
		}
		if ask {
			queried = append(queried, line)
		}
	}
	for _, line := range slices.Backward(queried) {
		if err := j.Write(line, makeRow(o.Format, line, "registered")); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(j.Complete(), j.Close()); err != nil {
		t.Fatal(err)
	}
	return queried
}

// check requires exactly one successful row per line in the file, and no other file
// than a sidecar that is complete.
func check(t *testing.T, o testOptions) {
	t.Helper()
	data, err := os.ReadFile(o.Path)
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	if o.Format == CSV {
		var ok bool
		if text, ok = strings.CutPrefix(text, csvHeader); !ok {
			t.Fatalf("no header: %q", text)
		}
	}
	parse, err := o.Format.parser(o.Header)
	if err != nil {
		t.Fatal(err)
	}
	var got []int64
	for row := range strings.Lines(text) {
		line, verdict, ok := parse([]byte(row))
		if !ok || verdict == "failed" || row != string(makeRow(o.Format, line, verdict)) {
			t.Errorf("row %q", row)
		}
		got = append(got, line)
	}
	if !o.Ordered {
		slices.Sort(got)
	}
	if diff := cmp.Diff(lines, got); diff != "" {
		t.Errorf("lines: %s\n%s", diff, data)
	}
	var names []string
	entries, err := os.ReadDir(filepath.Dir(o.Path))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if diff := cmp.Diff([]string{"out", "out.rdapq"}, names); diff != "" {
		t.Error("files:", diff)
	}
	side, err := os.ReadFile(o.Path + SidecarSuffix)
	var s sidecar
	if err != nil || json.Unmarshal(side, &s) != nil || !s.Complete || s.Rows != int64(len(lines)) {
		t.Errorf("sidecar: %s, %v", side, err)
	}
}

// each runs a test for every kind of journal.
func each(t *testing.T, f func(t *testing.T, format Format, ordered bool)) {
	for _, format := range []Format{NDJSON, CSV} {
		for _, ordered := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s ordered=%v", format, ordered), func(t *testing.T) { f(t, format, ordered) })
		}
	}
}

func TestFresh(t *testing.T) {
	each(t, func(t *testing.T, format Format, ordered bool) {
		o := options(t.TempDir(), format, ordered)
		if diff := cmp.Diff(lines, finish(t, o)); diff != "" {
			t.Error(diff)
		}
		check(t, o)
		j, err := Open(o.Path, o.Config)
		if err != nil {
			t.Fatal(err)
		}
		defer j.Close()
		want := Past{Rows: 7, Verdicts: map[string]int64{"registered": 7}, Complete: true}
		if diff := cmp.Diff(want, j.Past()); diff != "" {
			t.Error(diff)
		}
	})
}

// interrupted leaves a journal as a killed run would. It has some rows, of which two failed.
// With ordered rows, some wait for line 3.
func interrupted(t *testing.T, o testOptions) {
	t.Helper()
	j, err := Open(o.Path, o.Config)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines {
		if _, err := j.Begin(line); err != nil {
			t.Fatal(err)
		}
	}
	for _, line := range []int64{2, 1, 8, 6, 5} {
		verdict := "registered"
		if line == 2 || line == 6 {
			verdict = "failed"
		}
		if err := j.Write(line, makeRow(o.Format, line, verdict)); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := j.release(); err != nil { // the end of a process releases the lock in the same way
		t.Fatal(err)
	}
}

// TestTruncated truncates each file of a journal at each byte, as a kill or a power
// failure may, and resumes.
func TestTruncated(t *testing.T) {
	each(t, func(t *testing.T, format Format, ordered bool) {
		t.Parallel()
		from := options(t.TempDir(), format, ordered)
		interrupted(t, from)
		files := []string{"out"}
		if ordered {
			files = append(files, "out.rdapq-waiting")
		}
		for _, name := range files {
			whole, err := os.ReadFile(filepath.Join(filepath.Dir(from.Path), name))
			if err != nil || len(whole) == 0 {
				t.Fatal(name, err)
			}
			for cut := range len(whole) + 1 {
				o := options(t.TempDir(), format, ordered)
				if err := os.CopyFS(filepath.Dir(o.Path), os.DirFS(filepath.Dir(from.Path))); err != nil {
					t.Fatal(err)
				}
				if err := os.Truncate(filepath.Join(filepath.Dir(o.Path), name), int64(cut)); err != nil {
					t.Fatal(err)
				}
				queried := finish(t, o)
				check(t, o)
				// Complete rows that did not fail are not queried again.
				rowsLeft := strings.Count(string(whole[:cut]), "registered")
				if name == "out" && ordered {
					rowsLeft += 2 // adds the waiting rows
				}
				if name == "out.rdapq-waiting" {
					rowsLeft++ // adds line 1, which is in the other file
				}
				half := strings.Count(string(whole[strings.LastIndexByte(string(whole[:cut]), '\n')+1:cut]), "registered")
				if want := len(lines) - rowsLeft + half; len(queried) != want {
					t.Fatalf("%s cut at %d: queried %v, want %d of them", name, cut, queried, want)
				}
				if t.Failed() {
					t.Fatalf("%s cut at %d", name, cut)
				}
			}
		}
	})
}

// TestInterruptedResume resumes after a run that was killed while it resumed, at each of
// its steps.
func TestInterruptedResume(t *testing.T) {
	each(t, func(t *testing.T, format Format, ordered bool) {
		o := options(t.TempDir(), format, ordered)
		interrupted(t, o)
		file, err := os.ReadFile(o.Path)
		if err != nil {
			t.Fatal(err)
		}
		// Leave unfinished rewrites. For ordered rows, one has replaced the file of waiting
		// rows before the other file was truncated.
		j, err := Open(o.Path, o.Config)
		if err != nil {
			t.Fatal(err)
		}
		if err := j.release(); err != nil {
			t.Fatal(err)
		}
		if ordered {
			if err := os.WriteFile(o.Path, file, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for _, name := range []string{"-new", "-waiting.new"} {
			if err := os.WriteFile(o.Path+SidecarSuffix+name, []byte("half a"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		finish(t, o)
		check(t, o)
	})
}

// TestRetryInTheMiddle truncates an ordered file before the first row to query again. Lines of
// later rows are not queried again.
func TestRetryInTheMiddle(t *testing.T) {
	each(t, func(t *testing.T, format Format, ordered bool) {
		o := options(t.TempDir(), format, ordered)
		j, err := Open(o.Path, o.Config)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range lines {
			if _, err := j.Begin(line); err != nil {
				t.Fatal(err)
			}
			verdict := "registered"
			if line == 3 {
				verdict = "failed"
			}
			if err := j.Write(line, makeRow(format, line, verdict)); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(j.Complete(), j.Close()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]int64{3}, finish(t, o)); diff != "" {
			t.Error(diff)
		}
		check(t, o)
	})
}

// TestRowsRemoved checks that lines are queried again if their rows were removed from a
// complete journal.
func TestRowsRemoved(t *testing.T) {
	each(t, func(t *testing.T, format Format, ordered bool) {
		o := options(t.TempDir(), format, ordered)
		finish(t, o)
		info, err := os.Stat(o.Path)
		if err != nil {
			t.Fatal(err)
		}
		last := len(makeRow(format, 8, "registered"))
		for _, cut := range []int{1, last, 2 * last} {
			if err := os.Truncate(o.Path, info.Size()-int64(cut)); err != nil {
				t.Fatal(err)
			}
			if queried := finish(t, o); len(queried) != max(cut/last, 1) {
				t.Errorf("cut by %d bytes: queried %v", cut, queried)
			}
			check(t, o)
		}
	})
}

func TestRefused(t *testing.T) {
	dir := t.TempDir()
	base := options(dir, NDJSON, false)
	interrupted(t, base)
	before, err := os.ReadFile(base.Path)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name   string
		change func(o *testOptions)
		what   Change
		want   string
	}{
		{"more input", func(o *testOptions) { o.Input = &Input{"names.txt", 8, "abc"} }, ChangedInput, "the input has changed: names.txt had 7 bytes and now has 8"},
		{"longer input", func(o *testOptions) { o.Input = &Input{"new.txt", 8, "abc"} }, ChangedInput, "the input has changed: names.txt had 7 bytes, new.txt has 8"},
		{"other input", func(o *testOptions) { o.Input = &Input{"new.txt", 7, "abd"} }, ChangedInput, "the input has changed: new.txt has the size of names.txt, but different content"},
		{"standard input", func(o *testOptions) { o.Input = nil }, ChangedNoInput, "the input cannot be compared: resuming needs a file that can be read twice"},
		{"a setting", func(o *testOptions) { o.Settings = []string{"type=ip", "dedupe=true"} }, ChangedSettings, "the settings have changed: type=domain before, type=ip dedupe=true now"},
		{"a setting less", func(o *testOptions) { o.Settings = nil }, ChangedSettings, "the settings have changed: type=domain before, (unset) now"},
		{"format", func(o *testOptions) { o.Format, o.Header = CSV, []byte(csvHeader) }, ChangedFormat, "the format has changed: ndjson before, csv now"},
	} {
		o := base
		tt.change(&o)
		_, err := Open(o.Path, o.Config)
		changed, ok := errors.AsType[*ChangedError](err)
		if !ok || changed.What != tt.what || changed.Error() != tt.want {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	if after, err := os.ReadFile(base.Path); err != nil || string(after) != string(before) {
		t.Error("the file was changed", err)
	}
	o := base
	o.Settings, o.Overwrite = nil, true
	finish(t, o)
	check(t, o)
}

// TestSecretSettings changes a secret that the sidecar does not contain.
func TestSecretSettings(t *testing.T) {
	o := options(t.TempDir(), NDJSON, false)
	o.SecretSettings = []string{"key=hunter2"}
	finish(t, o)
	check(t, o)
	if side, err := os.ReadFile(o.Path + SidecarSuffix); err != nil || strings.Contains(string(side), "hunter2") {
		t.Errorf("sidecar %s, %v", side, err)
	}
	o.SecretSettings = []string{"key=hunter3"}
	_, err := Open(o.Path, o.Config)
	if changed, ok := errors.AsType[*ChangedError](err); !ok || changed.What != ChangedSettings || strings.Contains(err.Error(), "hunter") {
		t.Error(err)
	}
}

// TestInvalidRows writes rows that would make the journal unreadable. They are refused,
// and the journal remains usable.
func TestInvalidRows(t *testing.T) {
	each(t, func(t *testing.T, format Format, ordered bool) {
		o := options(t.TempDir(), format, ordered)
		j, err := Open(o.Path, o.Config)
		if err != nil {
			t.Fatal(err)
		}
		defer j.Close()
		good := string(makeRow(format, 1, "registered"))
		refused := func(line int64, row string) {
			t.Helper()
			if err := j.Write(line, []byte(row)); err == nil {
				t.Errorf("line %d: accepted %q", line, row)
			}
		}
		refused(1, "")
		refused(1, strings.TrimSuffix(good, "\n"))
		refused(1, good+good)
		refused(1, "\n"+good)
		refused(2, good)
		refused(1, string(makeRow(format, 1, "")))
		refused(1, "x\n")
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		finish(t, o)
		check(t, o)
	})
}

// TestSecondRow writes a second row of a line, whether the first one is from this run or
// an earlier one, in the file or waiting for another row.
func TestSecondRow(t *testing.T) {
	each(t, func(t *testing.T, format Format, ordered bool) {
		o := options(t.TempDir(), format, ordered)
		interrupted(t, o)
		j, err := Open(o.Path, o.Config)
		if err != nil {
			t.Fatal(err)
		}
		defer j.Close()
		for _, line := range lines {
			if _, err := j.Begin(line); err != nil {
				t.Fatal(err)
			}
		}
		if err := j.Write(2, makeRow(format, 2, "registered")); err != nil {
			t.Fatal(err)
		}
		if err := j.Write(7, makeRow(format, 7, "registered")); err != nil {
			t.Fatal(err)
		}
		for _, line := range []int64{1, 2, 5, 7, 8} {
			if err := j.Write(line, makeRow(format, line, "failed")); err == nil {
				t.Errorf("a second row of line %d was accepted", line)
			}
			if ordered {
				continue // Begin is in order
			}
			if needed, err := j.Begin(line); needed || err != nil {
				t.Errorf("line %d: %v, %v", line, needed, err)
			}
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		finish(t, o)
		check(t, o)
	})
}

func TestForeign(t *testing.T) {
	for _, tt := range []struct {
		name, file, side string
	}{
		{"no sidecar", "mine\n", ""},
		{"a sidecar that is none", "mine\n", "also mine\n"},
		{"a sidecar that breaks off", "mine\n", sidecarHead},
		{"nothing but a sidecar that is none", "", "also mine\n"},
		{"JSON that is not a sidecar", "mine\n", `{"complete":false}` + "\n"},
	} {
		o := options(t.TempDir(), NDJSON, false)
		for path, text := range map[string]string{o.Path: tt.file, o.Path + SidecarSuffix: tt.side} {
			if text == "" {
				continue
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := Open(o.Path, o.Config); !errors.Is(err, ErrForeign) {
			t.Errorf("%s: %v", tt.name, err)
		}
		for path, text := range map[string]string{o.Path: tt.file, o.Path + SidecarSuffix: tt.side} {
			if got, err := os.ReadFile(path); string(got) != text || text == "" && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: %s holds %q, %v", tt.name, path, got, err)
			}
		}
		o.Overwrite = true
		finish(t, o)
		check(t, o)
	}
}

// TestStartOverLeftovers starts a run with an empty file, and with a sidecar without a
// file.
func TestStartOverLeftovers(t *testing.T) {
	each(t, func(t *testing.T, format Format, ordered bool) {
		o := options(t.TempDir(), format, ordered)
		if err := os.WriteFile(o.Path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		finish(t, o)
		check(t, o)

		o = options(t.TempDir(), format, ordered)
		interrupted(t, o)
		if err := os.Remove(o.Path); err != nil {
			t.Fatal(err)
		}
		o.Settings = nil
		if queried := finish(t, o); len(queried) != len(lines) {
			t.Errorf("queried %v", queried)
		}
		check(t, o)
	})
}

func TestCorrupt(t *testing.T) {
	each(t, func(t *testing.T, format Format, ordered bool) {
		for _, damage := range []string{"\n", "{\"line\":1}\n", "1,2\n", "\x00\x00\n", "x,y,registered\n"} {
			o := options(t.TempDir(), format, ordered)
			interrupted(t, o)
			data, err := os.ReadFile(o.Path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(o.Path, append(data, damage...), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err = Open(o.Path, o.Config)
			if corrupt, ok := errors.AsType[*CorruptError](err); !ok || corrupt.Row != int64(strings.Count(string(data), "\n"))+1 {
				t.Errorf("%q: %v", damage, err)
			}
		}
	})
}

func TestOtherColumns(t *testing.T) {
	o := options(t.TempDir(), CSV, false)
	interrupted(t, o)
	o.Header = []byte("line,verdict,query\n")
	if _, err := Open(o.Path, o.Config); err == nil || err.Error() != "the columns have changed" {
		t.Error(err)
	}
	o.Header = []byte("line,query\n")
	if _, err := Open(o.Path, o.Config); err == nil {
		t.Error("without a verdict")
	}
}

func TestLocked(t *testing.T) {
	o := options(t.TempDir(), NDJSON, false)
	j, err := Open(o.Path, o.Config)
	if err != nil {
		t.Fatal(err)
	}
	for _, force := range []bool{false, true} {
		o.Overwrite = force
		if _, err := Open(o.Path, o.Config); !errors.Is(err, ErrLocked) {
			t.Errorf("force %v: %v", force, err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	finish(t, o)
}

// TestFlushes checks that rows reach the file without an explicit flush, after the
// interval or when there are many.
func TestFlushes(t *testing.T) {
	for _, tt := range []struct {
		name     string
		interval time.Duration
		block    int
	}{{"soon", time.Millisecond, 1 << 30}, {"many", time.Hour, 100}} {
		o := options(t.TempDir(), NDJSON, false)
		o.FlushInterval, o.BufferSize, o.Fsync = tt.interval, tt.block, true
		j, err := Open(o.Path, o.Config)
		if err != nil {
			t.Fatal(err)
		}
		defer j.Close()
		for line := range int64(2) {
			if err := j.Write(line+1, makeRow(NDJSON, line+1, "found")); err != nil {
				t.Fatal(err)
			}
		}
		for {
			if data, err := os.ReadFile(o.Path); err != nil {
				t.Fatal(err)
			} else if strings.Count(string(data), "\n") == 2 {
				break
			}
			select {
			case <-t.Context().Done():
				t.Fatal("it does not come")
			case <-time.After(time.Millisecond):
			}
		}
	}
}

// TestLink checks that a symbolic link stays a link.
func TestLink(t *testing.T) {
	dir := t.TempDir()
	o := options(dir, NDJSON, false)
	real := filepath.Join(dir, "real")
	if err := os.WriteFile(real, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, o.Path); err != nil {
		t.Skip(err)
	}
	interrupted(t, o)
	finish(t, o)
	if info, err := os.Lstat(o.Path); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Error(info, err)
	}
	if data, err := os.ReadFile(real); err != nil || strings.Count(string(data), "\n") != len(lines) {
		t.Errorf("%s, %v", data, err)
	}
	if info, err := os.Stat(real); err != nil || info.Mode().Perm() != 0o600 {
		t.Error("the copy is as private as the file was:", info.Mode(), err)
	}
}

// TestDanglingLink starts a journal at the target of a dangling link and resumes it
// under both names.
func TestDanglingLink(t *testing.T) {
	dir := t.TempDir()
	real := filepath.Join(dir, "real")
	link := options(dir, NDJSON, false)
	between := filepath.Join(dir, "between")
	if err := errors.Join(os.Symlink("between", link.Path), os.Symlink(real, between)); err != nil {
		t.Skip(err)
	}
	j, err := Open(link.Path, link.Config)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(j.Write(1, makeRow(link.Format, 1, "registered")), j.Flush()); err != nil {
		t.Fatal(err)
	}
	direct := link
	direct.Path = real
	if _, err := Open(direct.Path, direct.Config); !errors.Is(err, ErrLocked) {
		t.Errorf("the file itself, while the link is written: %v", err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if queried := finish(t, link); len(queried) != len(lines)-1 {
		t.Errorf("queried again: %v", queried)
	}
	if queried := finish(t, direct); len(queried) != 0 {
		t.Errorf("by the name of the file: %v", queried)
	}
	if data, err := os.ReadFile(real); err != nil || strings.Count(string(data), "\n") != len(lines) {
		t.Errorf("%s, %v", data, err)
	}
}

func TestFingerprint(t *testing.T) {
	got, err := Fingerprint("x", strings.NewReader("abc"))
	want := &Input{"x", 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
}
