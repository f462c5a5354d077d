package queue

// Decisions is how many rules decide the pair; each pair has exactly one.
func Decisions(from State, e Event) int {
	n := 0
	for _, r := range rules {
		if r.decides(from, e) {
			n++
		}
	}
	return n
}
