package statefile

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestReplace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	if err := os.WriteFile(path+".tmp", []byte("half"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"one", "two"} {
		if err := Replace(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil || string(got) != text {
			t.Errorf("%q, %v; want %q", got, err, text)
		}
	}
	if files, err := os.ReadDir(filepath.Dir(path)); err != nil || len(files) != 1 {
		t.Errorf("%v, %v: want one file", files, err)
	}
	if err := Replace(filepath.Join(path, "below"), nil); err == nil {
		t.Error("a file below a file")
	}
}

func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	unlock, err := Lock(path, Within(0))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Lock(path, Within(0)); !errors.Is(err, ErrBusy) {
		t.Errorf("a second lock: %v", err)
	}
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	unlock, err = Lock(path, Within(0))
	if err != nil {
		t.Fatal(err)
	}
	if err := unlock(); err != nil {
		t.Error(err)
	}
}
