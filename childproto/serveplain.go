package childproto

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
)

// servePlain works on the one job of a plain process. Its outcome goes where a
// supervisor looks for it: the result to stdout, the rest into the file that
// BAILIFF_OUTCOME names, if it does, and into the error that becomes the exit
// status.
func servePlain(ctx context.Context, in io.Reader, out io.Writer, fn Handler) error {
	job, err := plainJob(in, os.Getenv)
	if err != nil {
		return leave(failed(ctx, err), 0)
	}
	told := make(chan ended, 1)
	task := &Task{Job: *job, say: func(m *Message) { writePlain(os.Stderr, m) }}
	go attempt(ctx, fn, task, func(e ended) { told <- e })
	e := <-told
	if e.note != "" {
		fmt.Fprintln(os.Stderr, e.note)
	}
	if e.outcome.Result != nil {
		if _, err := out.Write(append(e.outcome.Result, '\n')); err != nil {
			fmt.Fprintln(os.Stderr, "done, but nobody read the result:", err)
		}
	}
	return leave(e.outcome, job.ID)
}

// leave writes the outcome, but for its result, to BAILIFF_OUTCOME and is the
// error that says the same. The file appears whole or not at all: half of one
// would break the protocol.
func leave(o Outcome, id int64) error {
	if name := os.Getenv("BAILIFF_OUTCOME"); name != "" {
		o.Result = nil
		m := o.message(id)
		m.HasID = id > 0
		if err := writeWhole(name, AppendMessage(nil, m)); err != nil {
			fmt.Fprintln(os.Stderr, "leave the outcome:", err)
		}
	}
	if o.Is == EndDone {
		return nil
	}
	return &EndError{Is: o.Is, Reason: o.Reason, After: o.After}
}

// writeWhole writes a file beside name and renames it.
func writeWhole(name string, text []byte) error {
	part := name + ".part"
	if err := os.WriteFile(part, text, 0o600); err != nil {
		return err
	}
	return os.Rename(part, name)
}

// writePlain writes what a plain handler says before its outcome as a line of
// its log: there is no other way to say it, and any byte shows that it is alive.
func writePlain(w io.Writer, m *Message) {
	line := m.Text
	switch {
	case m.Type == TypeAlive:
		line = "alive"
	case m.Percent != nil:
		line = strconv.FormatFloat(*m.Percent, 'f', -1, 64) + "% " + m.Text
	case m.Type == TypeLog:
		line = m.Level + ": " + m.Text
		if m.Fields != nil {
			line += " " + string(m.Fields)
		}
	}
	fmt.Fprintln(w, line)
}
