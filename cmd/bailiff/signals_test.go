package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
)

// TestSignalBeforeTheServiceTakesThem is not parallel: the signals are the whole
// process's.
func TestSignalBeforeTheServiceTakesThem(t *testing.T) {
	for _, test := range []struct {
		sent syscall.Signal
		stop bool
	}{
		{syscall.SIGTERM, true},
		{syscall.SIGINT, true},
		{syscall.SIGHUP, false}, // would have reloaded what is not read yet
	} {
		s, ctx := catchSignals()
		send(t, test.sent)
		<-ctx.Done()
		if cause := context.Cause(ctx); !errors.Is(cause, stopped{test.sent}) {
			t.Errorf("%v: cause %v", test.sent, cause)
		}
		if stop := s.take(); stop != test.stop {
			t.Errorf("%v: told to stop %t, want %t", test.sent, stop, test.stop)
		}
		for _, next := range []syscall.Signal{syscall.SIGHUP, syscall.SIGTERM, syscall.SIGINT} {
			send(t, next)
			if got := <-s.caught; got != next {
				t.Errorf("%v, then %v: the service got %v", test.sent, next, got)
			}
		}
		signal.Stop(s.caught)
		signal.Stop(s.deaf)
	}
}

func TestSignalsOfAService(t *testing.T) {
	s, ctx := catchSignals()
	defer signal.Stop(s.caught)
	defer signal.Stop(s.deaf)
	if s.take() {
		t.Error("told to stop by nobody")
	}
	send(t, syscall.SIGTERM)
	if got := <-s.caught; got != syscall.SIGTERM || ctx.Err() != nil {
		t.Errorf("the service got %v, its context is %v", got, ctx.Err())
	}
}

// TestSignalsWhileAServiceOpens: what it does then ends with the first signal to stop,
// and what came is the service's all the same.
func TestSignalsWhileAServiceOpens(t *testing.T) {
	s, _ := catchSignals()
	defer signal.Stop(s.caught)
	defer signal.Stop(s.deaf)
	s.take()
	opening, done := s.until(t.Context())
	send(t, syscall.SIGHUP)
	send(t, syscall.SIGTERM)
	<-opening.Done()
	if err := context.Cause(opening); !errors.Is(err, stopped{syscall.SIGTERM}) {
		t.Errorf("it ended with %v", err)
	}
	done()
	got := map[os.Signal]bool{<-s.caught: true, <-s.caught: true}
	if !got[syscall.SIGHUP] || !got[syscall.SIGTERM] {
		t.Errorf("the service got %v", got)
	}
	opening, done = s.until(t.Context())
	done()
	if err := context.Cause(opening); !errors.Is(err, context.Canceled) {
		t.Errorf("without a signal it ended with %v", err)
	}
}

func send(t *testing.T, sig syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(os.Getpid(), sig); err != nil {
		t.Fatal(err)
	}
}

// TestInputEndsWithItsContext: neither a pipe that nobody writes to nor one that
// nobody opens holds a command that was told to end.
func TestInputEndsWithItsContext(t *testing.T) {
	t.Parallel()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	defer write.Close()
	told := errors.New("told to end")
	ctx, cancel := context.WithCancelCause(t.Context())
	in := input{ctx, read}
	if _, err := write.WriteString("ab"); err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(io.LimitReader(in, 2)); string(text) != "ab" || err != nil {
		t.Fatalf("before: %q, %v", text, err)
	}
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	cancel(told)
	if _, err := in.Read(make([]byte, 1)); !errors.Is(err, told) {
		t.Errorf("read: %v", err)
	}
	if _, err := in.open(fifo); !errors.Is(err, told) {
		t.Errorf("open: %v", err)
	}
}
