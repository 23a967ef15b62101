package rdap

// maxCost bounds what is made of one answer beside its text, in octets as far as
// they are accounted for: an object of two characters becomes hundreds of octets,
// so that an answer within the limit of bodies could fill the memory of a machine.
// It has room for some ten thousand entities or records of a search.
const maxCost = 8 << 20

// What things take, roughly.
const (
	costItem   = 128 // an item of a list, such as a link
	costString = 64
	costEntity = 512
	costRecord = 1024
)

// reserve accounts for something that is to be kept, and reports whether there is
// room for it. The rest of an answer that has none is passed over, which is told
// once, by its path.
func (r *reader) reserve(octets int) bool {
	if r.used += octets; r.used <= maxCost {
		return true
	}
	if !r.exhausted {
		r.exhausted = true
		if len(r.problems) == maxProblems { // it counts more than any of them
			r.problems = r.problems[:maxProblems-1]
		}
		r.discard("record too large: the rest is omitted")
	}
	return false
}
