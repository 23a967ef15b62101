//go:build !http3

package pool

import "errors"

// newH3Net is for builds without QUIC.
func newH3Net(Config, *dialer, FactStore, func() int64) (h3Net, error) {
	return nil, errors.New("pool: built without HTTP/3")
}
