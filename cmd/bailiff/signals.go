package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// signals are caught from the first moment of the program on. The first one ends
// the command's context and the next one the program, unless a service takes
// them over: it decides itself what they mean.
type signals struct {
	caught chan os.Signal
	deaf   chan os.Signal // never read: what comes here does nothing
	taken  chan struct{}
	idle   chan struct{} // closed when this hands no signal on any more
	first  os.Signal     // that came before they were taken; nil: none
}

// stopped is the cause of a context that a signal ended.
type stopped struct{ os.Signal }

func (s stopped) Error() string { return "stopped by a signal (" + s.String() + ")" }

// catchSignals answers the context that the first signal ends.
func catchSignals() (*signals, context.Context) {
	s := &signals{
		caught: make(chan os.Signal, 8), deaf: make(chan os.Signal, 1),
		taken: make(chan struct{}), idle: make(chan struct{}),
	}
	ending := []os.Signal{syscall.SIGINT, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup(1)
		ending = append(ending, syscall.SIGHUP)
	}
	signal.Notify(s.caught, ending...)
	// At the limit of a file's size the write fails, which is told; the signal that
	// comes with it (setrlimit(2)) would end the program.
	signal.Notify(s.deaf, syscall.SIGXFSZ)
	ctx, cancel := context.WithCancelCause(context.Background())
	go func() {
		defer close(s.idle)
		select {
		case s.first = <-s.caught:
			signal.Stop(s.caught)
			cancel(stopped{s.first})
		case <-s.taken:
		}
	}()
	return s, ctx
}

// until answers a context that ends with the first signal to stop which comes before
// done is called, for what a service does before it obeys signals itself. It obeys that
// one too, if it comes so far.
func (s *signals) until(ctx context.Context) (_ context.Context, done func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		var seen []os.Signal
		defer func() {
			for _, sig := range seen {
				select {
				case s.caught <- sig:
				default: // as many have come since
				}
			}
		}()
		for {
			select {
			case <-over:
				return
			case sig := <-s.caught:
				seen = append(seen, sig)
				if sig != syscall.SIGHUP {
					cancel(stopped{sig})
				}
			}
		}
	}()
	return ctx, func() {
		close(over)
		<-ended
		cancel(nil)
	}
}

// take makes the signals a service's, which hears of SIGHUP too, and answers
// whether it was told to stop before.
func (s *signals) take() (stop bool) {
	close(s.taken)
	<-s.idle
	signal.Notify(s.caught, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	// A log that nobody reads any more must not end the service. Ignoring the
	// signal would be inherited by the handlers; catching it is not.
	signal.Notify(s.deaf, syscall.SIGPIPE)
	return s.first != nil && s.first != syscall.SIGHUP // nothing is read yet that could be reloaded
}
