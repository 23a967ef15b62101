// Package neterror describes connection errors for messages, and determines which of them
// are permanent. It does not deal with requests or servers.
package neterror

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/rdapq/rdapq/internal/safetext"
)

// Timeout reports whether err means that a time limit has passed.
func Timeout(err error) bool {
	t, ok := errors.AsType[net.Error](err)
	return ok && t.Timeout() || errors.Is(err, context.DeadlineExceeded)
}

// Refused reports whether the peer refused a connection.
func Refused(err error) bool {
	if errors.Is(err, syscall.ECONNREFUSED) {
		return true
	}
	// Windows uses another error number.
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial" && strings.Contains(op.Err.Error(), "refused")
}

// TLS describes why a TLS connection failed, and returns a hint. It returns "" if TLS is not
// the cause. handshake states whether the handshake was in progress. If not, TLS returns only
// causes that a retry does not change: the server's certificate, or the protocol versions and
// ciphers of the two sides.
func TLS(err error, handshake bool) (cause, hint string) {
	if bad, ok := errors.AsType[x509.CertificateInvalidError](err); ok {
		if bad.Reason == x509.Expired && bad.Cert != nil {
			if now := time.Now(); now.Before(bad.Cert.NotBefore) {
				return "its certificate is not valid before " + day(bad.Cert.NotBefore), "check the clock of this machine"
			}
			return "its certificate expired on " + day(bad.Cert.NotAfter), "the operator of the server has to renew it"
		}
		return "its certificate is not valid: " + safetext.Visible(bad.Error()), ""
	}
	if bad, ok := errors.AsType[x509.HostnameError](err); ok {
		return "its certificate is for another host: " + safetext.Visible(strings.TrimPrefix(bad.Error(), "x509: ")), "check the name of the server"
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return "its certificate is signed by an untrusted authority", "if you trust that authority, add its certificate to the trusted certificates"
	}
	if bad, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return "its certificate cannot be verified: " + safetext.Visible(bad.Err.Error()), ""
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return "the server does not speak TLS on this port", "check the port"
	}
	if text, ok := tlsText(err); ok {
		return "the handshake failed: " + safetext.Visible(text), "the server may offer only protocol versions or ciphers that are no longer safe"
	}
	if handshake {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) {
			return "the server closed the connection during the handshake", ""
		}
		return "the handshake failed: " + safetext.Visible(Root(err)), ""
	}
	return "", ""
}

// tlsText finds a crypto/tls error that has no specific type, and returns its text.
func tlsText(err error) (string, bool) {
	if alert, ok := errors.AsType[tls.AlertError](err); ok {
		return strings.TrimPrefix(alert.Error(), "tls: "), true
	}
	text := Root(err)
	if rest, ok := strings.CutPrefix(text, "tls: "); ok {
		op, remote := errors.AsType[*net.OpError](err)
		if remote && op.Op == "remote error" {
			return "the server sent: " + rest, true
		}
		return rest, true
	}
	return "", false
}

// Root returns the text of the innermost error, without the addresses and operations of the
// outer errors.
func Root(err error) string {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err.Error()
		}
		err = next
	}
}

func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }
