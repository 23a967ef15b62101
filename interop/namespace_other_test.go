//go:build unix && !linux

package interop_test

import "errors"

const (
	fastOpenOnRequest = 0
	fastOpenForAll    = 0
)

func isolated() bool { return false }

func setFastOpen(int) error { return errors.ErrUnsupported }
