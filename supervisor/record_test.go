package supervisor_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/sqlite"
	"github.com/b1213022/bailiff/supervisor"
	"github.com/b1213022/bailiff/supervisor/config"
)

// deaf is a queue whose settles go wrong before they go right.
type deaf struct {
	*sqlite.Queue
	errors []error // answered first, one each
	asked  []queue.Settlement
}

func (d *deaf) Settle(ctx context.Context, s queue.Settlement) (queue.Settled, error) {
	d.asked = append(d.asked, s)
	if len(d.errors) > 0 {
		err := d.errors[0]
		d.errors = d.errors[1:]
		return queue.Settled{}, err
	}
	return d.Queue.Settle(ctx, s)
}

// TestSettleAgain: what may pass is tried again with the same token and
// outcome, so that a settle whose answer was lost is a replay.
func TestSettleAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.script("k", `echo '"r"'`)
	b.enqueue("k", "1")
	q := &deaf{Queue: b.queue, errors: []error{queue.ErrBusy, queue.ErrFull, queue.ErrUnknown}}
	result, err := b.supervisor(func(o *options) { o.Queue = q }).RunOne(t.Context())
	mustNil(t, err)
	if result.Outcome != supervisor.OneCompleted || len(q.asked) != 4 {
		t.Errorf("outcome %s after %d settles, want completed after 4", result.Outcome, len(q.asked))
	}
	for _, s := range q.asked {
		if s.Token != q.asked[0].Token || string(s.Outcome.Result) != `"r"` {
			t.Errorf("settled %+v, want the same each time", s)
		}
	}
}

// TestSettleRefused: an outcome outside the queue's bounds does not leave the
// run unrecorded.
func TestSettleRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.script("k", `exit 0`)
	b.enqueue("k", "1")
	q := &deaf{Queue: b.queue, errors: []error{queue.ErrInvalid}}
	result, err := b.supervisor(func(o *options) { o.Queue = q }).RunOne(t.Context())
	mustNil(t, err)
	if result.Outcome != supervisor.OneQuarantined {
		t.Errorf("outcome %s, want quarantined", result.Outcome)
	}
	b.expect(b.job("k", "1"), queue.StateQuarantined, "its outcome done could not be recorded")
}

// TestLateOutcome: an outcome that comes after the lease was lost changes
// nothing and is kept as a note.
func TestLateOutcome(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.script("k", `exit 65`)
	b.enqueue("k", "1")
	q := &deaf{Queue: b.queue, errors: []error{queue.ErrLeaseLost}}
	result, err := b.supervisor(func(o *options) { o.Queue = q }).RunOne(t.Context())
	mustNil(t, err)
	if result.Outcome != supervisor.OneLeaseLost {
		t.Errorf("outcome %s, want lease_lost", result.Outcome)
	}
	if job := b.job("k", "1"); job.State != queue.StateLeased {
		t.Errorf("the job is %s, want it as it stood", job.State)
	}
	history, err := b.queue.History(t.Context(), 1, 0)
	mustNil(t, err)
	noted := ""
	for _, entry := range history {
		noted += entry.Detail + "\n"
	}
	if !strings.Contains(noted, "does not count: dead: exit status 65") {
		t.Errorf("no note of the late outcome in %q", noted)
	}
}

// TestNotRecorded: a queue that cannot record tells so.
func TestNotRecorded(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.script("k", `exit 0`)
	b.enqueue("k", "1")
	q := &deaf{Queue: b.queue, errors: []error{queue.ErrClosed}}
	_, err := b.supervisor(func(o *options) { o.Queue = q }).RunOne(t.Context())
	wantError(t, err, queue.ErrClosed)
}

// TestUnrecorded: a service whose queue did not take a run does not end as if
// everything were recorded.
func TestUnrecorded(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.script("k", `exit 65`)
	b.enqueue("k", "1")
	q := &deaf{Queue: b.queue, errors: []error{errors.New("disk I/O error")}}
	err := b.supervisor(func(o *options) { o.Queue, o.UntilIdle = q, true }).Run(t.Context())
	wantError(t, err, supervisor.ErrUnrecorded)
	if job := b.job("k", "1"); job.State != queue.StateLeased {
		t.Errorf("the job is %s, want it left to its lease", job.State)
	}
}

// lostAnswers is a queue that renews nothing and lets settles wait until whoever
// asks waits no longer.
type lostAnswers struct {
	*sqlite.Queue
	records bool // the first settle is recorded, but its answer gets lost
	asked   int
}

func (l *lostAnswers) Renew(context.Context, []queue.Renewal) ([]queue.Renewed, error) {
	return nil, queue.ErrBusy
}

func (l *lostAnswers) Settle(ctx context.Context, s queue.Settlement) (queue.Settled, error) {
	l.asked++
	switch {
	case l.asked == 1 && l.records:
		if _, err := l.Queue.Settle(ctx, s); err != nil {
			return queue.Settled{}, err
		}
		return queue.Settled{}, queue.ErrUnknown
	case l.asked == 1:
		return queue.Settled{}, queue.ErrBusy
	case l.asked == 2:
		<-ctx.Done() // at the latest when the lease is lost
		return queue.Settled{}, ctx.Err()
	case l.records:
		return l.Queue.Settle(ctx, s)
	}
	return queue.Settled{}, queue.ErrLeaseLost
}

// TestLeaseLostWhileRecording: the queue is asked a last time, for it may have
// recorded the run already; if it has not, the outcome came too late.
func TestLeaseLostWhileRecording(t *testing.T) {
	t.Parallel()
	for _, records := range []bool{true, false} {
		b := newBench(t)
		b.config.Lease = config.Lease{Duration: time.Second, Renew: 300 * time.Millisecond}
		b.script("k", `exit 65`)
		b.enqueue("k", "1")
		q := &lostAnswers{Queue: b.queue, records: records}
		result, err := b.supervisor(func(o *options) { o.Queue = q }).RunOne(t.Context())
		mustNil(t, err)
		want, note := supervisor.OneLeaseLost, true
		if records {
			want, note = supervisor.OneDead, false
		}
		if result.Outcome != want {
			t.Errorf("recorded %v: outcome %s, want %s", records, result.Outcome, want)
		}
		history, err := b.queue.History(t.Context(), 1, 0)
		mustNil(t, err)
		noted := false
		for _, entry := range history {
			noted = noted || strings.Contains(entry.Detail, "does not count: dead: exit status 65")
		}
		if noted != note {
			t.Errorf("recorded %v: a late outcome noted: %v, want %v", records, noted, note)
		}
	}
}

// fullDisk is a queue whose first settle comes too late and whose notes go
// wrong as note says.
type fullDisk struct {
	deaf
	note func(context.Context) error
}

func (f *fullDisk) Note(ctx context.Context, id, fence int64, text string) error {
	if err := f.note(ctx); err != nil {
		return err
	}
	return f.Queue.Note(ctx, id, fence, text)
}

const lateWords = "does not count: dead: exit status 65"

// TestLateOutcomeNotedAtLast: a note that cannot be made is tried again until it
// can, and holds up nobody meanwhile.
func TestLateOutcomeNotedAtLast(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.script("k", `exit 65`)
	b.enqueue("k", "1")
	tried, room := make(chan struct{}, 100), make(chan struct{})
	q := &fullDisk{deaf: deaf{Queue: b.queue, errors: []error{queue.ErrLeaseLost}}}
	tries := 0
	q.note = func(ctx context.Context) error {
		tries++
		tried <- struct{}{}
		switch tries {
		case 1:
			select {
			case <-room:
			case <-ctx.Done():
				t.Error("the first try of the note was cut off: the next job waited for it")
			}
			return queue.ErrFull
		case 2:
			return queue.ErrBusy
		}
		return nil
	}
	s := b.serve(func(o *options) { o.Queue = q })
	<-tried
	b.enqueue("k", "2")
	b.awaitState("k", "2", queue.StateDead)
	close(room)
	for again := range 2 {
		select {
		case <-tried:
		case <-time.After(30 * time.Second):
			t.Fatalf("the note was tried %d times, want 3", again+1)
		}
	}
	mustNil(t, s.drain())
	history, err := b.queue.History(t.Context(), 1, 0)
	mustNil(t, err)
	notes := 0
	for _, entry := range history {
		if strings.Contains(entry.Detail, lateWords) {
			notes++
		}
	}
	if notes != 1 {
		t.Errorf("%d notes of the late outcome, want one", notes)
	}
}

// TestLateOutcomeLogged: an outcome that the queue never took is in the log, in
// its words.
func TestLateOutcomeLogged(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var log bytes.Buffer
	b.log = hclog.New(&hclog.LoggerOptions{Output: &log})
	b.script("k", `exit 65`)
	b.enqueue("k", "1")
	q := &fullDisk{deaf: deaf{Queue: b.queue, errors: []error{queue.ErrLeaseLost}}}
	q.note = func(context.Context) error { return queue.ErrFull }
	_, err := b.supervisor(func(o *options) { o.Queue = q }).RunOne(t.Context())
	mustNil(t, err)
	for _, line := range []string{"lease lost", "late outcome not noted"} {
		_, rest, found := strings.Cut(log.String(), line)
		if rest, _, _ = strings.Cut(rest, "\n"); !found || !strings.Contains(rest, lateWords) {
			t.Errorf("the line %q does not tell %q in\n%s", line, lateWords, log.String())
		}
	}
}
