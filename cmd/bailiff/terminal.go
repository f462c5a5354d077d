package main

import (
	"os"

	"golang.org/x/term"
)

// isTerminal reports whether a stream is one a person looks at.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
