package sqlite_test

import (
	"errors"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/b1213022/bailiff/queue"
)

func TestLifeOfAJob(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	job := f.add(queue.NewJob{
		Kind: "mail", Key: "welcome-1", Payload: jsontext.Value(`{"to": "ann", "n": 9007199254740993}`),
		Meta: jsontext.Value(`{"trace":"x"}`), Priority: 5, MaxAttempts: 3,
	})
	if job.ID != 1 || job.State != queue.StateReady || job.Attempt != 0 || job.MaxAttempts != 3 {
		t.Errorf("enqueued: %+v", job)
	}
	c := f.claimOne("mail", queue.Rule{MaxAttempts: 20})
	if got := c.Job; got.State != queue.StateLeased || got.Attempt != 1 || got.MaxAttempts != 3 || got.Fence != 1 ||
		got.Worker != "w1" || !got.LeaseExpiresAt.Equal(start.Add(10*time.Second)) ||
		string(got.Payload) != `{"to": "ann", "n": 9007199254740993}` || string(got.Meta) != `{"trace":"x"}` {
		t.Errorf("claimed: %+v", got)
	}
	f.clock.Advance(2 * time.Second)
	s := f.settles(c, queue.Outcome{Is: queue.RunDone, Result: jsontext.Value(`{"sum":12345678901234567890}`)})
	if s.State != queue.StateDone || s.Attempt != 1 || s.Replay {
		t.Errorf("settled: %+v", s)
	}
	f.reopen()
	got := f.get(job.ID)
	if got.State != queue.StateDone || string(got.Result) != `{"sum":12345678901234567890}` ||
		!got.FinishedAt.Equal(start.Add(2*time.Second)) || got.Worker != "" || got.Priority != 5 ||
		got.IdempotencyKey != job.IdempotencyKey || got.IdempotencyKey == "" {
		t.Errorf("after reopening: %+v", got)
	}
	history, err := f.History(t.Context(), job.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	var events []queue.Event
	for _, e := range history {
		events = append(events, e.Event)
	}
	if len(events) != 3 || events[0] != queue.EventEnqueue || events[1] != queue.EventClaim || events[2] != queue.EventDone {
		t.Errorf("history: %v", events)
	}
	if _, err := f.Get(t.Context(), queue.Ref{ID: 99}); !errors.Is(err, queue.ErrNotFound) {
		t.Errorf("get of an unknown id: %v", err)
	}
}
