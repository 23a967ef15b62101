package neterror_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rdapq/rdapq/internal/neterror"
)

func TestTLS(t *testing.T) {
	now := time.Now()
	expired := &x509.Certificate{NotBefore: now.Add(-48 * time.Hour), NotAfter: now.Add(-24 * time.Hour)}
	early := &x509.Certificate{NotBefore: now.Add(24 * time.Hour), NotAfter: now.Add(48 * time.Hour)}
	for _, tt := range []struct {
		err       error
		permanent string // beginning of the cause outside a handshake
		handshake string
	}{
		{x509.CertificateInvalidError{Cert: expired, Reason: x509.Expired}, "its certificate expired on ", "its certificate expired on "},
		{x509.CertificateInvalidError{Cert: early, Reason: x509.Expired}, "its certificate is not valid before ", "its certificate is not valid before "},
		{&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}, "its certificate is signed by", "its certificate is signed by"},
		{&tls.CertificateVerificationError{Err: errors.New("odd\x1b")}, `its certificate cannot be verified: odd\u001b`, `its certificate cannot be verified: odd\u001b`},
		{tls.RecordHeaderError{}, "the server does not speak TLS", "the server does not speak TLS"},
		{&net.OpError{Op: "remote error", Err: tls.AlertError(40)}, "the handshake failed: ", "the handshake failed: "},
		{&net.OpError{Op: "remote error", Err: errors.New("tls: no")}, "the handshake failed: the server sent: no", "the handshake failed: the server sent: no"},
		{io.EOF, "", "the server closed the connection"},
		{&net.OpError{Op: "read", Err: syscall.ECONNRESET}, "", "the server closed the connection"},
		{errors.New("other"), "", "the handshake failed: other"},
	} {
		err := fmt.Errorf("request: %w", tt.err)
		outside, _ := neterror.TLS(err, false)
		if !strings.HasPrefix(outside, tt.permanent) || (outside == "") != (tt.permanent == "") {
			t.Errorf("%v: %q, want %q", err, outside, tt.permanent)
		}
		if during, _ := neterror.TLS(err, true); !strings.HasPrefix(during, tt.handshake) {
			t.Errorf("%v in the handshake: %q, want %q", err, during, tt.handshake)
		}
	}
}

func TestKinds(t *testing.T) {
	refused := &net.OpError{Op: "dial", Err: &os.SyscallError{Syscall: "connect", Err: syscall.ECONNREFUSED}}
	for _, tt := range []struct {
		err              error
		refused, timeout bool
		root             string
	}{
		{refused, true, false, syscall.ECONNREFUSED.Error()},
		{&net.OpError{Op: "dial", Err: errors.New("actively refused it")}, true, false, "actively refused it"},
		{&net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}, false, true, os.ErrDeadlineExceeded.Error()},
		{context.DeadlineExceeded, false, true, context.DeadlineExceeded.Error()},
		{context.Canceled, false, false, context.Canceled.Error()},
	} {
		if got := neterror.Refused(tt.err); got != tt.refused {
			t.Errorf("%v: refused %v", tt.err, got)
		}
		if got := neterror.Timeout(tt.err); got != tt.timeout {
			t.Errorf("%v: timeout %v", tt.err, got)
		}
		if got := neterror.Root(fmt.Errorf("x: %w", tt.err)); got != tt.root {
			t.Errorf("%v: root %q, want %q", tt.err, got, tt.root)
		}
	}
}
