// Package limit holds what is known of the request limits of RDAP servers: a
// [Rate] is one limit, a [Budget] is what was learned and used of one server, and
// a [Store] keeps budgets between runs and shares them between programs.
//
// The package decides nothing about requests. Package client does, and stores
// here what it learns.
package limit
