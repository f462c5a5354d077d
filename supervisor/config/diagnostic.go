package config

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/agext/levenshtein"
)

// Diagnostic is one thing to tell about a configuration.
type Diagnostic struct {
	File    string // relative where the path given to Load was
	Line    int    // from 1; 0: about the file as a whole
	Summary string // what is so, in a clause
	Detail  string // what to do about it; may be empty
	Near    string // the nearest known word to a misspelt one, also named in Detail; may be empty
}

// String is the diagnostic on one line, whatever the names in it hold:
// "file:line: summary: detail".
func (d Diagnostic) String() string {
	text := place{d.File, d.Line}.String() + ": " + d.Summary
	if d.Detail != "" {
		text += ": " + d.Detail
	}
	return strings.ReplaceAll(text, "\n", `\n`)
}

// Error is everything that is wrong with a configuration, in the order of
// files and lines. Nothing of that configuration is in use.
type Error struct {
	Diagnostics []Diagnostic // at least one

	// StateDir is what the file says, or its default, absolute: where a service
	// that still runs with what the file said before is to be looked for.
	StateDir string
	// StateDirGuessed means that what the file says could not be read, and
	// StateDir is the default: that no service is there proves nothing.
	StateDirGuessed bool
	// Database is what the file says, or its default, absolute: for those who need
	// nothing else of it. Empty where that is in doubt: lines of the file were not
	// understood, others can write it, or what it says there is wrong.
	Database string

	sources []source // what was looked at
}

// Error lists every diagnostic, one per line.
func (e *Error) Error() string {
	lines := make([]string, len(e.Diagnostics))
	for i, d := range e.Diagnostics {
		lines[i] = d.String()
	}
	return strings.Join(lines, "\n")
}

// place is where something is set, as people are told.
type place struct {
	file string
	line int
}

func (p place) String() string {
	if p.line == 0 {
		return p.file
	}
	return p.file + ":" + strconv.Itoa(p.line)
}

// diagnose makes a Diagnostic for a place.
func (p place) diagnose(summary, detail string) Diagnostic {
	return Diagnostic{File: p.file, Line: p.line, Summary: summary, Detail: detail}
}

// inOrder sorts by file and line and drops what is said twice.
func inOrder(list []Diagnostic) []Diagnostic {
	slices.SortStableFunc(list, func(a, b Diagnostic) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	return slices.Compact(list)
}

// Nearest is the known word that word was probably meant to be; empty if none
// is near: more than two letters, of a short word more than one, of a long one
// more than a third would differ.
func Nearest(word string, known []string) string {
	allowed := max(2, len(word)/3)
	if len(word) < 4 {
		allowed = 1
	}
	best, bestDistance := "", allowed+1
	for _, k := range slices.Sorted(slices.Values(known)) {
		d := levenshtein.Distance(strings.ToLower(word), k, nil)
		if d < bestDistance && d < len(k) {
			best, bestDistance = k, d
		}
	}
	return best
}
