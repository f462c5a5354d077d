package main

import (
	"context"
	"errors"

	"github.com/b1213022/bailiff/internal/shellword"
	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/sqlite"
)

// eachRef does one act to every job named, one after the other, and answers
// with the first error after all of them were tried.
func (a *app) eachRef(ctx context.Context, args []string, act func(*sqlite.Queue, queue.Ref) (queue.Job, error), tell func(*queue.Job)) error {
	refs := make([]queue.Ref, len(args))
	for i, arg := range args {
		var err error
		if refs[i], err = queue.ParseRef(arg); err != nil {
			return err
		}
	}
	return a.withQueue(ctx, func(q *sqlite.Queue) error {
		var first error
		for _, ref := range refs {
			job, err := act(q, ref)
			err = a.adviseAbsent(err, ref)
			switch {
			case err != nil && first == nil:
				first = err
			case err != nil:
				a.tellError("", err)
			case a.json:
				if err := a.printJSON(newJobJSON(&job)); err != nil {
					return err
				}
			default:
				tell(&job)
			}
		}
		return first
	})
}

// adviseAbsent says how to find a job where there is none of that name.
func (a *app) adviseAbsent(err error, ref queue.Ref) error {
	switch {
	case !errors.Is(err, queue.ErrNotFound), errors.As(err, new(*queue.PrunedError)):
		return err
	case ref.ID != 0:
		return advise(err, "%s shows which jobs there are", a.command("list"))
	}
	return advise(err, "%s shows which jobs there are", a.command("list --kind %s", shellword.Quote(ref.Kind)))
}
