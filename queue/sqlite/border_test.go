package sqlite_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/b1213022/bailiff/queue"
)

// leaves makes a write whose caller leaves, and runs spoil, after the writer has
// taken the request and before it looks at it.
func (f *fixture) leaves(write func(context.Context) error, spoil func()) {
	f.Helper()
	release := holds(f, f.Path())
	taken, goOn, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- f.Run(context.Background(), true, func() error {
			close(taken)
			<-goOn
			return nil
		})
	}()
	waits := func(n int) {
		until(func() bool { return f.Waiting() >= n })
	}
	waits(1)
	ctx, cancel := context.WithCancel(context.Background())
	left := make(chan error, 1)
	go func() { left <- write(ctx) }()
	waits(2)
	release()
	<-taken
	cancel()
	if err := <-left; !errors.Is(err, queue.ErrUnknown) {
		f.Errorf("who left was told %v", err)
	}
	spoil()
	close(goOn)
	if err := <-done; err != nil {
		f.Error(err)
	}
}

// What is recorded is what was asked for, whatever the caller does with its memory
// once it has stopped waiting.
func TestCallersWhoLeaveMayUseTheirMemoryAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	payload, meta := []byte(`{"n":1}`), []byte(`{"m":1}`)
	f.leaves(func(ctx context.Context) error {
		_, err := f.Enqueue(ctx, queue.NewJob{Kind: "a", Key: "k", Payload: payload, Meta: meta})
		return err
	}, func() { payload[5], meta[5] = '2', '2' })
	if job := f.get(1); string(job.Payload) != `{"n":1}` || string(job.Meta) != `{"m":1}` {
		t.Errorf("enqueued: %s, %s", job.Payload, job.Meta)
	}

	f.add(newJob("b", "k"))
	c := f.claimOne("a", queue.Rule{})
	list := []queue.Renewal{{ID: 1, Token: c.Lease.Token, Length: time.Hour}}
	f.leaves(func(ctx context.Context) error {
		_, err := f.Renew(ctx, list)
		return err
	}, func() { list[0].Length = time.Minute })
	if job := f.get(1); !job.LeaseExpiresAt.Equal(start.Add(time.Hour)) {
		t.Errorf("renewed until %v", job.LeaseExpiresAt)
	}

	result := jsontext.Value(`7`)
	f.leaves(func(ctx context.Context) error {
		_, err := f.Settle(ctx, queue.Settlement{ID: 1, Token: c.Lease.Token, Outcome: queue.Outcome{Is: queue.RunDone, Result: result}})
		return err
	}, func() { result[0] = '8' })
	if job := f.get(1); string(job.Result) != `7` {
		t.Errorf("result: %s", job.Result)
	}

	c = f.claimOne("b", queue.Rule{})
	after := time.Minute
	f.leaves(func(ctx context.Context) error {
		_, err := f.Settle(ctx, queue.Settlement{ID: 2, Token: c.Lease.Token, Outcome: queue.Outcome{Is: queue.RunRetry, After: &after}})
		return err
	}, func() { after = time.Hour })
	if job := f.get(2); !job.AvailableAt.Equal(start.Add(time.Minute)) {
		t.Errorf("to be tried again at %v", job.AvailableAt)
	}
}

// The answer is the caller's own, too.
func TestAnswersShareNothingWithTheRequest(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	payload := []byte(`{"n":1}`)
	job := f.add(queue.NewJob{Kind: "a", Key: "k", Payload: payload})
	payload[5] = '2'
	if string(job.Payload) != `{"n":1}` {
		t.Errorf("payload: %s", job.Payload)
	}
}
