// Package gate decides whether a request may go to a host now, and learns from the outcome how
// many requests the host accepts.
//
// A caller gets a [Host] from [Hosts.At], and a [Decision] from [Host.Acquire]. After Allow,
// the caller sends one request and reports its [Outcome] to [Host.Observe], or returns the
// Decision with [Host.Refund]. The package sends no requests and writes no error messages: it
// returns reasons and times.
//
// A response with status 429 becomes a stored limit on this path:
//
//	client: attempt.report        Outcome{Kind: Throttled, RetryAfter: …}
//	Host.Observe, Host.refused    a trial: is this one refusal isolated?
//	Host.isolated                 changes nothing, unless they are frequent or come in a burst
//	Host.discover                 two in a row: pause; with Retry-After the span is known
//	Host.finishSearch             without it: the pause shows the span
//	Host.setQuota                 the host has a quota, in memory only
//	quota.refused, quota.accepted tests confirm the quota, or raise it
//	Host.storeQuota               a confirmed quota goes to limit.Store, as Budget.Learned
//	Host.load                     the next run, or another Client, starts from there
package gate
