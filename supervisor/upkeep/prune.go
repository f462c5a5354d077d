package upkeep

import (
	"context"
	"errors"
	"time"

	"github.com/b1213022/bailiff/queue"
)

// How finished jobs are looked for.
const (
	pruneSoon  = 5 * time.Second // after the start, which has other things to do
	pruneEvery = time.Minute
	pruneRetry = time.Second // after the first failure in a row; then twice as long each time, up to pruneEvery
	pruneShare = 10          // of the time that the queue can write in, one part in so many
)

// prune forgets finished jobs until ctx ends or the queue is closed.
func (u *Upkeep) prune(ctx context.Context) {
	failures := 0
	wait := pruneSoon
	p := newPace(u.opt.Clock)
	for {
		if again, _ := u.sleep(ctx, wait, u.pruned); !again {
			return
		}
		var err error
		wait, err = u.pruneRound(ctx, p)
		if ctx.Err() != nil || errors.Is(err, queue.ErrClosed) {
			return
		}
		if err == nil {
			failures = 0
			continue
		}
		failures++
		wait = backoff(failures, pruneRetry, pruneEvery)
	}
}

// pruneRound forgets what there is to forget, a few jobs at a time, and answers
// when to go on. It ends after a while although more is left, so that what it did
// is told.
func (u *Upkeep) pruneRound(ctx context.Context, p *pace) (wait time.Duration, err error) {
	began := u.opt.Clock.Mono()
	var jobs, freed int64
	defer func() {
		if jobs > 0 {
			u.log.Info("finished jobs whose time was over are forgotten", "jobs", jobs, "freed", freed,
				"took", (u.opt.Clock.Mono() - began).Round(time.Millisecond))
		}
		if ctx.Err() == nil {
			u.notePruned(jobs, freed, err)
		}
	}()
	for {
		ahead, believed := p.look()
		keep := u.inUse().Retention
		switch {
		case keep == (queue.Retention{}):
			return pruneEvery, nil
		case ahead > 0:
			u.log.Warn("the wall clock went ahead: no finished jobs are forgotten for a while",
				"ahead", ahead.Round(time.Second), "wall", p.wall.UTC().Format(time.RFC3339), "while", aheadRest)
		}
		if !believed {
			return 0, errAhead
		}
		asked := u.opt.Clock.Mono()
		pruned, err := u.opt.Queue.Prune(ctx, queue.Pruning{Keep: keep})
		if err != nil {
			return 0, err
		}
		jobs += pruned.Jobs
		freed += pruned.Freed
		now := u.opt.Clock.Mono()
		pause := (pruneShare - 1) * (now - asked)
		switch {
		case !pruned.More:
			return pruneEvery, nil
		case now-began >= pruneEvery:
			return pause, nil
		}
		if again, _ := u.sleep(ctx, pause, nil); !again {
			return 0, ctx.Err()
		}
	}
}

// notePruned shows what a round came to. A failure is logged once, and once that
// it is over.
func (u *Upkeep) notePruned(jobs, freed int64, err error) {
	before, words := "", ""
	if err != nil {
		words = err.Error()
	}
	u.note(func(s *Status) {
		before = s.Prune.Error
		s.Prune.Error = words
		s.Prune.Jobs += jobs
		s.Prune.Freed += freed
		if err == nil {
			s.Prune.LastAt = u.opt.Clock.Now()
		}
	})
	switch {
	case words == "" && before != "":
		u.log.Info("finished jobs are looked for again")
	case errors.Is(err, errAhead): // told when it was found
	case words != "" && before == "" && !errors.Is(err, queue.ErrClosed): // who works on the queue tells of that
		u.log.Warn("finished jobs whose time is over are not forgotten for now; trying again", "error", err)
	}
}
