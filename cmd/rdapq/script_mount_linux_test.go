package main

import (
	"os"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

// cmdMounted mounts a file system of the given size on a directory until the script ends.
func cmdMounted(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: mounted DIR SIZE")
	}
	dir := ts.MkAbs(args[0])
	ts.Check(os.Mkdir(dir, 0o777))
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size="+args[1]); err != nil {
		ts.Fatalf("mount: %v", err)
	}
	ts.Defer(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
}

// cmdRemounted changes the size of the mounted file system.
func cmdRemounted(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: remounted DIR SIZE")
	}
	ts.Check(unix.Mount("", ts.MkAbs(args[0]), "", unix.MS_REMOUNT, "size="+args[1]))
}
