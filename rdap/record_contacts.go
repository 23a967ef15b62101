package rdap

// CardProblems returns what is wrong with the contact cards of the answer and of
// the objects within it, at most 100 problems. The cards are decoded anew.
func (rec *Record) CardProblems() []Problem {
	var w cardWalk
	w.record(rec)
	return mergeProblems(w.problems)
}

// maxCards bounds the cards that a walk reads: answers may have a million.
const maxCards = 1000

// A cardWalk goes through the cards of an answer.
type cardWalk struct {
	problems []Problem
	cards    int
}

func (w *cardWalk) record(rec *Record) {
	w.card(rec.Card)
	w.entities(rec.Entities)
	for i := range rec.Nameservers {
		w.entities(rec.Nameservers[i].Entities)
	}
	if rec.Network != nil {
		w.record(rec.Network)
	}
	for _, list := range [...][]Record{rec.Networks, rec.Autnums, rec.Results} {
		for i := range list {
			w.record(&list[i])
		}
	}
}

func (w *cardWalk) entities(list []Entity) {
	for i := range list {
		e := &list[i]
		w.card(e.Card)
		w.entities(e.Entities)
		for _, list := range [...][]Record{e.Networks, e.Autnums} {
			for i := range list {
				w.record(&list[i])
			}
		}
	}
}

func (w *cardWalk) card(c Card) {
	if w.cards == maxCards || len(w.problems) == maxProblems || c.IsZero() {
		return
	}
	w.cards++
	w.problems = append(w.problems, c.Contact().Problems...)
	w.problems = w.problems[:min(len(w.problems), maxProblems)]
}
