package queue

import (
	"cmp"
	"fmt"
	"strings"
)

// Table is the table of allowed moves as Markdown, for the documents; what it does
// not name is refused. A test there keeps the printed one current.
func Table() string {
	var b strings.Builder
	b.WriteString("| event | from | to | guard | meaning |\n|---|---|---|---|---|\n")
	for _, r := range rules {
		if r.To != nil {
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", join(r.On), join(r.From), join(r.To), r.Guard, r.Meaning)
		}
	}
	return b.String()
}

// join lists states or events; a dash stands for StateNone.
func join[Word ~string](words []Word) string {
	shown := make([]string, len(words))
	for i, w := range words {
		shown[i] = cmp.Or(string(w), "–")
	}
	return strings.Join(shown, ", ")
}
