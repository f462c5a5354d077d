package main

import (
	"fmt"
	"slices"
	"strings"
)

// refusedLine is a line that made no job; --json prints it.
type refusedLine struct {
	Line   int64  `json:"line"`
	Reason string `json:"refused"`
}

// refusedLines are those of one import, told in their order, or, for people, each
// reason once. The bounds are those of the refusals of a requeue.
type refusedLines struct {
	app     *app
	waiting []refusedLine // of the chunk that is being made
	reasons []*refusedReason
}

// refusedReason is why some lines were refused.
type refusedReason struct {
	text  string
	lines int64
	first []string // numbers of the first few
}

// add takes a line that is refused, in any order within its chunk.
func (r *refusedLines) add(line int64, err error) {
	reason := strings.TrimPrefix(strings.Join(sentences(err), "; "), "enqueue: ")
	r.waiting = append(r.waiting, refusedLine{line, reason})
}

// flush is the end of a chunk.
func (r *refusedLines) flush() error {
	slices.SortStableFunc(r.waiting, func(a, b refusedLine) int { return int(a.Line - b.Line) })
	for _, line := range r.waiting {
		if r.app.json {
			if err := r.app.printJSON(line); err != nil {
				return err
			}
			continue
		}
		r.count(line)
	}
	r.waiting = r.waiting[:0]
	return nil
}

func (r *refusedLines) count(line refusedLine) {
	i := slices.IndexFunc(r.reasons, func(known *refusedReason) bool { return known.text == line.Reason })
	switch {
	case i < 0 && len(r.reasons) < refusalReasons:
		r.reasons = append(r.reasons, &refusedReason{text: line.Reason})
		i = len(r.reasons) - 1
	case i < 0:
		i = refusalReasons - 1
		r.reasons[i].text = "other reasons"
	}
	known := r.reasons[i]
	known.lines++
	if len(known.first) < refusalsNamed {
		known.first = append(known.first, fmt.Sprint(line.Line))
	}
}

// tell says for people why lines were refused, and what to do.
func (r *refusedLines) tell() {
	for _, reason := range r.reasons {
		label := "line "
		if reason.lines > 1 {
			label = "lines "
		}
		label += strings.Join(reason.first, ", ")
		if more := reason.lines - int64(len(reason.first)); more > 0 {
			label += fmt.Sprintf(" and %d more", more)
		}
		r.app.note("%s: %s", label, reason.text)
	}
	if len(r.reasons) > 0 {
		r.app.note("the others are in; mend these and run it again: nothing is added twice")
	}
}
