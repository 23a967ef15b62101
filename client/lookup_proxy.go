package client

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strconv"

	"github.com/rdapq/rdapq/pool"
)

// proxyFailed is the error of a proxy that did not lead to host: it could not be
// reached, or refused. None of that is the server's fault.
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
		e.Message = name + " wants to know who asks (407)"
		e.Hint = "put user and password into the URL of the proxy: http://user:password@proxy.example:3128"
	case cause.Status != 0:
		e.Message = name + " refused to connect to " + host + ": " + strconv.Itoa(cause.Status) + " " + http.StatusText(cause.Status)
		e.Hint = "ask who runs the proxy, or leave it out for this server (NO_PROXY)"
	case unresolved:
		e.Message = "the name of " + name + " does not resolve"
		if !dns.IsNotFound {
			e.Message = "the name of " + name + " could not be looked up: " + visible(dns.Err)
		}
		e.Hint = "check the URL of the proxy"
	case isRefused(cause):
		e.Message = name + " refused the connection"
		e.Hint = "check the URL of the proxy, and whether it runs"
	case tls != "":
		e.Message, e.Hint = "no TLS connection to "+name+": "+tls, hint
	default:
		e.Message = name + " did not connect to " + host + ": " + visible(rootCause(cause))
		e.Hint = "ask who runs the proxy, or leave it out for this server (NO_PROXY)"
	}
}

// proxyMayRecover reports whether what a proxy failed at may pass by itself: it
// was not there, or could not reach the server.
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
