package pool

// FactsOf returns what a Pool knows of an origin.
func (p *Pool) FactsOf(origin string) Facts { return p.facts.Get(origin) }
