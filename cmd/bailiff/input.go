package main

import (
	"context"
	"io"
	"os"
)

// input is stdin, or a file that a person named: reading from it, and opening
// it, can take for ever and ends with the command's context.
type input struct {
	ctx  context.Context
	from io.Reader
}

// open opens a file. To be read in the same way it becomes an input itself.
func (in input) open(path string) (*os.File, error) {
	return interruptible(in.ctx, func() (*os.File, error) { return os.Open(path) })
}

// Read is io.Reader's. What a read still under way finds after the context has
// ended is lost.
func (in input) Read(p []byte) (int, error) {
	own := make([]byte, len(p))
	n, err := interruptible(in.ctx, func() (int, error) { return in.from.Read(own) })
	copy(p, own[:n])
	return n, err
}

// interruptible waits for what do answers, but only until ctx ends.
func interruptible[T any](ctx context.Context, do func() (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	answered := make(chan answer, 1)
	go func() {
		value, err := do()
		answered <- answer{value, err}
	}()
	select {
	case a := <-answered:
		return a.value, a.err
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	}
}
