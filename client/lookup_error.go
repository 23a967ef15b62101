package client

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rdapq/rdapq/bootstrap"
	"github.com/rdapq/rdapq/pool"
)

// transportError returns the error of a request to u without a response.
func (a *attempt) transportError(u *url.URL, err error) *Error {
	at := stepSent
	if pe, ok := errors.AsType[*pool.Error](err); ok {
		at = stepOf(pe.Step)
	} else if a.steps != nil {
		at = a.steps.step()
	}
	return a.failure(u, at, err)
}

// failure classifies err, which happened at the given step of talking to u.
func (a *attempt) failure(u *url.URL, at step, err error) *Error {
	host := visible(u.Host)
	e := &Error{Code: CodeTransport, Err: err}
	if a.outer.Err() != nil {
		stopped(a.outer, e, at.doingWith(host))
		return e
	}
	if a.c.isClosed() && a.c.ownPool {
		return closedWhile(at.doingWith(host), err)
	}
	if errors.Is(err, pool.ErrClosed) {
		// A retry is useless: the pool stays closed.
		e.Code, e.Message = CodeCanceled, "the connection pool is closed"
		if a.c.isClosed() {
			e.Err = errors.Join(ErrClosed, err)
		}
		return e
	}
	if tooSlow(a.ctx, err) {
		e.Code = CodeTimeout
		e.Message = "no response from " + host + " within " + a.spent() + ", " + at.doing()
		e.Hint, e.HintCode = "try again later, or allow more time", HintTimeout
		if !errors.Is(err, context.DeadlineExceeded) {
			e.Err = errors.Join(context.DeadlineExceeded, err)
		}
		return e
	}
	if inside, ok := errors.AsType[*pool.AddressError](err); ok {
		a.notPublic(e, host, inside)
		return e
	}
	if cause, ok := errors.AsType[*pool.ProxyError](err); ok {
		proxyFailed(e, host, cause)
		return e
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		e.Code = CodeDNS
		e.Message = "cannot resolve host " + visible(dns.Name)
		if !dns.IsNotFound {
			e.Message = "cannot resolve host " + visible(dns.Name) + ": " + visible(dns.Err)
		}
		e.Hint = "check your network connection; if it is up, the registry's entry may be out of date"
		switch {
		case a.redirected || a.task.walk != nil:
			e.Hint = "check your network connection; if it is up, the link may be out of date"
		case a.task.result.Source == bootstrap.SourceServer:
			e.Hint = "check your network connection and the host name"
		case a.task.result.Source == bootstrap.SourceOverride:
			e.Hint = "check your network connection and the host name in the overrides"
		}
		return e
	}
	if isRefused(err) {
		e.Code = CodeRefused
		e.Message = host + " refused the connection"
		e.Hint = "the server may be down, or a firewall may block it"
		return e
	}
	if cause, hint := tlsCause(err, at); cause != "" {
		e.Code = CodeTLS
		e.Message = "no TLS connection to " + host + ": " + cause
		e.Hint = hint
		if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
			e.HintCode = HintCertificate
		}
		return e
	}
	e.Message = "the connection to " + host + " failed " + at.doing() + ": " + visible(rootCause(err))
	if at == stepConnect {
		e.Message = "no connection to " + host + ": " + visible(rootCause(err))
	}
	return e
}

// stopped sets e to the error of a caller that gave up or whose deadline passed.
func stopped(ctx context.Context, e *Error, doing string) {
	e.Code, e.Message = CodeCanceled, "canceled while "+doing
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		e.Code, e.Message = CodeTimeout, "timed out while "+doing
		e.Hint, e.HintCode = "allow more time", HintTimeout
	}
	for _, cause := range []error{context.Cause(ctx), ctx.Err()} {
		if !errors.Is(e.Err, cause) {
			e.Err = errors.Join(cause, e.Err)
		}
	}
}

func tooSlow(ctx context.Context, err error) bool {
	if ctx.Err() != nil {
		return true
	}
	t, ok := errors.AsType[net.Error](err)
	return ok && t.Timeout() || errors.Is(err, context.DeadlineExceeded)
}

// spent returns the time that the attempt took, rounded for people.
func (a *attempt) spent() string {
	d := time.Since(a.start)
	if a.clock != nil && a.clock.expired() {
		d = a.clock.spent()
	}
	if d < time.Second {
		return d.Round(time.Millisecond).String()
	}
	return d.Round(100 * time.Millisecond).String()
}

func isRefused(err error) bool {
	if errors.Is(err, syscall.ECONNREFUSED) {
		return true
	}
	// Windows has another error number.
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial" && strings.Contains(op.Err.Error(), "refused")
}

// tlsCause describes why a TLS connection failed. It returns "" if TLS is not the cause.
func tlsCause(err error, at step) (cause, hint string) {
	if bad, ok := errors.AsType[x509.CertificateInvalidError](err); ok {
		if bad.Reason == x509.Expired && bad.Cert != nil {
			if now := time.Now(); now.Before(bad.Cert.NotBefore) {
				return "its certificate is not valid before " + day(bad.Cert.NotBefore), "check the clock of this machine"
			}
			return "its certificate expired on " + day(bad.Cert.NotAfter), "the operator of the server has to renew it"
		}
		return "its certificate is not valid: " + visible(bad.Error()), ""
	}
	if bad, ok := errors.AsType[x509.HostnameError](err); ok {
		return "its certificate is for another host: " + visible(strings.TrimPrefix(bad.Error(), "x509: ")), "check the name of the server"
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return "its certificate is signed by an untrusted authority", "if you trust that authority, add its certificate to the trusted ones"
	}
	if bad, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return "its certificate cannot be verified: " + visible(bad.Err.Error()), ""
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return "it does not speak TLS on this port", "check the port"
	}
	if text, ok := tlsText(err); ok {
		return "the handshake failed: " + visible(text), "the server may offer only protocol versions or ciphers that are no longer safe"
	}
	if at == stepHandshake {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) {
			return "the server closed the connection during the handshake", ""
		}
		return "the handshake failed: " + visible(rootCause(err)), ""
	}
	return "", ""
}

// tlsText finds an error that crypto/tls has no type for.
func tlsText(err error) (string, bool) {
	if alert, ok := errors.AsType[tls.AlertError](err); ok {
		return strings.TrimPrefix(alert.Error(), "tls: "), true
	}
	text := rootCause(err)
	if rest, ok := strings.CutPrefix(text, "tls: "); ok {
		op, remote := errors.AsType[*net.OpError](err)
		if remote && op.Op == "remote error" {
			return "the server sent: " + rest, true
		}
		return rest, true
	}
	return "", false
}

// rootCause returns the text of the innermost error, without the addresses and operations
// that the message has already.
func rootCause(err error) string {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err.Error()
		}
		err = next
	}
}

func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// proxyFailed sets the error of a connection to host that failed at the proxy, not at the
// server.
func proxyFailed(e *Error, host string, cause *pool.ProxyError) {
	e.Code = CodeProxy
	name := "the proxy"
	if cause.Proxy != "" {
		name += " " + visible(cause.Proxy)
	}
	dns, unresolved := errors.AsType[*net.DNSError](cause)
	tls, hint := tlsCause(cause, stepConnect)
	switch {
	case cause.Status == http.StatusProxyAuthRequired:
		e.Message = name + " requires authentication (407)"
		e.Hint = "put user and password into the URL of the proxy: http://user:password@proxy.example:3128"
	case cause.Status != 0:
		e.Message = name + " refused to connect to " + host + ": " + strconv.Itoa(cause.Status) + " " + http.StatusText(cause.Status)
		e.Hint = "contact the operator of the proxy, or bypass it for this server (NO_PROXY)"
	case unresolved:
		e.Message = "cannot resolve the host of " + name
		if !dns.IsNotFound {
			e.Message = "cannot resolve the host of " + name + ": " + visible(dns.Err)
		}
		e.Hint = "check the URL of the proxy"
	case isRefused(cause):
		e.Message = name + " refused the connection"
		e.Hint = "check the URL of the proxy, and whether it runs"
	case tls != "":
		e.Message, e.Hint = "no TLS connection to "+name+": "+tls, hint
	default:
		e.Message = name + " did not connect to " + host + ": " + visible(rootCause(cause))
		e.Hint = "contact the operator of the proxy, or bypass it for this server (NO_PROXY)"
	}
}

// proxyMayRecover reports whether a retry may help after a failure of a proxy: it was
// unreachable, or could not reach the server.
func proxyMayRecover(err error) bool {
	cause, ok := errors.AsType[*pool.ProxyError](err)
	switch {
	case !ok:
		return false
	case cause.Status != 0:
		return isOutageStatus(cause.Status)
	case isRefused(cause):
		return true
	}
	timeout, ok := errors.AsType[net.Error](err)
	return ok && timeout.Timeout() || errors.Is(err, context.DeadlineExceeded)
}
