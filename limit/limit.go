// Package limit holds the known request limits of RDAP servers. A [Rate] is one limit, and a
// [Budget] holds the observed limit and usage of one server. A [Store] keeps budgets between
// runs and shares them between programs.
//
// The package makes no decisions about requests. Package client makes them, and stores its
// observations here.
package limit
