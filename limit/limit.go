// Package limit holds the known request limits of RDAP servers: a [Rate] is one limit, a
// [Budget] holds the observed limit and usage of one server, and a [Store] keeps budgets
// between runs and shares them between programs.
//
// The package makes no decisions about requests. Package client makes them, and stores its
// observations here.
package limit
