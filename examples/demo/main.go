// Command demo puts every file below the Go toolchain's src/net through
// handlers in four languages, kills the supervisor half-way, starts it again,
// and compares each stored result with what sha256sum and wc say. It drives the
// built program from outside, as a user would; run again, it finds everything
// done and adds no job.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the demo at once
	err := demo(ctx)
	if err != nil && ctx.Err() != nil {
		err = errors.New("interrupted; the service has drained, and the next demo goes on from here")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func demo(ctx context.Context) error {
	began := time.Now()
	b := bailiff{program: "bin/bailiff", config: "examples/demo/config.hcl"}
	jobs, err := collect(ctx)
	if err != nil {
		return err
	}
	if err := b.create(ctx); err != nil {
		return err
	}
	added, err := b.enqueue(ctx, jobs)
	if err != nil {
		return err
	}
	fmt.Printf("%d jobs: %d new, %d known from before.\n", len(jobs), added, len(jobs)-added)
	if added == 0 {
		fmt.Println("Nothing to do, so nothing is killed either: the table is of the run before. make clean starts over.")
	}
	if err := work(ctx, b, len(jobs), added > 0); err != nil {
		return err
	}
	stored, err := b.stored(ctx, jobs)
	if err != nil {
		return err
	}
	wrong := report(jobs, stored)
	fmt.Printf("Took %.1f s. Look around: bin/bailiff --config %s list --kind wordcount\n", time.Since(began).Seconds(), b.config)
	if wrong > 0 {
		return fmt.Errorf("%d jobs are not done, or not with the expected result", wrong)
	}
	return nil
}

// work runs the service until every job has ended. With kill it is killed half
// way, without a warning, and started again.
func work(ctx context.Context, b bailiff, total int, kill bool) error {
	s, err := b.start(ctx)
	if err != nil {
		return err
	}
	defer func() {
		if ctx.Err() == nil {
			s.kill()
		}
		<-s.ended // else it drains
	}()
	bar := newProgress(total)
	for {
		c, err := b.counts(ctx)
		if err != nil {
			return err
		}
		bar.at(c.ended())
		if c.ended() >= total {
			break
		}
		if kill && c.ended() >= total/2 {
			kill = false
			s.kill()
			if c, err = b.counts(ctx); err != nil {
				return err
			}
			bar.say("kill -9 of the supervisor, jobs in hand: %d. Starting it again: they are taken up when their lease of 2 s is over.", c.Leased)
			again, err := b.start(ctx)
			if err != nil {
				return err
			}
			s = again
		}
		select {
		case <-s.ended:
			return fmt.Errorf("the service ended by itself: %v", s.err)
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
	bar.end()
	return s.stop()
}
