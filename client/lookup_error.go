package client

import (
	"context"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/rdapq/rdapq/bootstrap"
	"github.com/rdapq/rdapq/internal/auth"
	"github.com/rdapq/rdapq/internal/neterror"
	"github.com/rdapq/rdapq/internal/reqtrace"
	"github.com/rdapq/rdapq/pool"
)

// transportError returns the error of a request to u without a response.
func (a *attempt) transportError(u *url.URL, err error) *Error {
	at := reqtrace.StepSent
	if pe, ok := errors.AsType[*pool.Error](err); ok {
		at = pe.Step
	} else if a.steps != nil {
		at = a.steps.Step()
	}
	return a.failure(u, at, err)
}

// failure classifies err, which happened at the given step of a request to u.
func (a *attempt) failure(u *url.URL, at pool.Step, err error) *Error {
	host := visible(u.Host)
	e := &Error{Code: CodeTransport, Err: err}
	if a.outer.Err() != nil {
		stopped(a.outer, e, reqtrace.DoingWith(at, host))
		return e
	}
	if a.c.isClosed() && a.c.ownPool {
		return closedWhile(reqtrace.DoingWith(at, host), err)
	}
	if errors.Is(err, pool.ErrClosed) {
		// A retry is useless: the pool stays closed.
		e.Code, e.Message = CodeCanceled, "the connection pool is closed"
		if a.c.isClosed() {
			e.Err = errors.Join(ErrClosed, err)
		}
		return e
	}
	if cause, ok := errors.AsType[*auth.SourceError](err); ok {
		e.Code, e.Message = CodeCredential, "no credential for "+visible(cause.Origin)+": "+visible(cause.Err.Error())
		return e
	}
	if a.ctx.Err() != nil || neterror.Timeout(err) {
		e.Code = CodeTimeout
		e.Message = "no response from " + host + " within " + a.spent() + ", " + reqtrace.Doing(at)
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
		e.Hint = "check your network connection; if it works, the registry's entry may be out of date"
		switch {
		case a.redirected || a.task.walk != nil:
			e.Hint = "check your network connection; if it works, the link to this host may be out of date"
		case a.task.result.Source == bootstrap.SourceServer:
			e.Hint = "check your network connection and the host name"
		case a.task.result.Source == bootstrap.SourceOverride:
			e.Hint = "check your network connection and the host name in the overrides"
		}
		return e
	}
	if neterror.Refused(err) {
		e.Code = CodeRefused
		e.Message = host + " refused the connection"
		e.Hint = "the server may be down, or a firewall may block it"
		return e
	}
	if cause, hint := neterror.TLS(err, at == pool.StepHandshake); cause != "" {
		e.Code = CodeTLS
		e.Message = "no TLS connection to " + host + ": " + cause
		e.Hint = hint
		if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
			e.HintCode = HintCertificate
		}
		return e
	}
	e.Message = "the connection to " + host + " failed " + reqtrace.Doing(at) + ": " + visible(neterror.Root(err))
	if at == pool.StepConnect {
		e.Message = "no connection to " + host + ": " + visible(neterror.Root(err))
	}
	return e
}

// stopped sets e to the error of a lookup that its caller canceled or whose deadline passed.
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

// spent returns the time that the attempt took, rounded for people.
func (a *attempt) spent() string {
	d := time.Since(a.start)
	if bound := a.clock.Expired(); bound > 0 {
		d = bound
	}
	if d < time.Second {
		return d.Round(time.Millisecond).String()
	}
	return d.Round(100 * time.Millisecond).String()
}

// proxyFailed sets the error of a connection to host that failed at the proxy, not at the
// server.
func proxyFailed(e *Error, host string, cause *pool.ProxyError) {
	e.Code = CodeProxy
	name := "the proxy"
	if cause.Proxy != "" {
		name += " " + visible(cause.Proxy)
	}
	dns, unresolved := errors.AsType[*net.DNSError](cause)
	tls, hint := neterror.TLS(cause, false)
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
	case neterror.Refused(cause):
		e.Message = name + " refused the connection"
		e.Hint = "check the URL of the proxy, and that the proxy is running"
	case tls != "":
		e.Message, e.Hint = "no TLS connection to "+name+": "+tls, hint
	default:
		e.Message = name + " did not connect to " + host + ": " + visible(neterror.Root(cause))
		e.Hint = "contact the operator of the proxy, or bypass it for this server (NO_PROXY)"
	}
}

// proxyMayRecover reports whether a retry may help after a failure of a proxy, because the
// proxy was unreachable or could not reach the server.
func proxyMayRecover(err error) bool {
	cause, ok := errors.AsType[*pool.ProxyError](err)
	switch {
	case !ok:
		return false
	case cause.Status != 0:
		return isOutageStatus(cause.Status)
	}
	return neterror.Refused(cause) || neterror.Timeout(err)
}
