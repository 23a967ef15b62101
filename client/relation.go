package client

// A Relation is one between objects of a registry of numbers: a network and
// those around it or inside it.
type Relation string

// Relations (RFC 9910). Links have them with "rdap-" in front or without.
const (
	RelationUp     Relation = "up"     // the next wider one
	RelationDown   Relation = "down"   // the next smaller ones
	RelationTop    Relation = "top"    // the widest one
	RelationBottom Relation = "bottom" // the smallest ones
)

// Relations returns all there are.
func Relations() []Relation {
	return []Relation{RelationUp, RelationDown, RelationTop, RelationBottom}
}
