package queuetest

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/b1213022/bailiff/queue"
)

// Model is an engine that keeps its queues in memory: plain slices and maps under
// one lock, with package queue deciding wherever it has a word. It is the reference
// that other engines are compared with, so it is written to be believed, not to be
// fast.
type Model struct{}

// New makes a queue in memory.
func (Model) New(_ testing.TB, c queue.Clock, random func() float64) Store {
	s := &modelStore{
		clock: c, random: random, nextID: 1,
		kinds: map[string]bool{}, pruned: map[queue.Ref]*record{}, watchers: map[*modelWatch]bool{},
	}
	_, _ = rand.Read(s.uid[:]) // crypto/rand.Read never fails
	return s
}

// modelStore is all that is kept of one queue.
type modelStore struct {
	clock  queue.Clock
	random func() float64
	uid    [16]byte

	mu       sync.Mutex
	floor    int64 // the fences of new jobs start from it
	nextID   int64
	kinds    map[string]bool // that ever had a job or a pause; true: paused
	jobs     []*record       // by id
	pruned   map[queue.Ref]*record
	watchers map[*modelWatch]bool
}

// record is one job with all that belongs to it.
type record struct {
	job     queue.Job // its State is scheduled until a claim has promoted it
	boot    string    // under which a delay of the job is counted; empty: none is
	dueMono time.Duration
	digest  [32]byte
	held    *hold
	settled *word // what the token that settled last said; nil after any other move
	history []queue.Entry
}

// hold is a lease as it is kept.
type hold struct {
	queue.Lease
	boot      string
	worker    string
	rule      queue.UncertainRule
	claimedAt time.Time
}

func (h *hold) expires() time.Duration { return h.Deadline + queue.Margin(h.Length) }

// Open opens the queue.
func (s *modelStore) Open(ctx context.Context) (Queue, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	token := queue.NewToken()
	return &modelQueue{
		modelStore: s, boot: cmp.Or(s.clock.Boot(), "unknown "+token.Text()),
		seen: map[int64]sighting{}, closing: make(chan struct{}),
	}, nil
}

// modelQueue is one handle on a store.
type modelQueue struct {
	*modelStore
	boot     string
	seen     map[int64]sighting // the leases of other boots
	closing  chan struct{}
	isClosed bool
}

// Close ends the handle.
func (q *modelQueue) Close() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.isClosed {
		q.isClosed = true
		close(q.closing)
	}
	return nil
}

// moment is the queue as one operation sees it.
type moment struct {
	*modelQueue
	now  time.Time // cut to milliseconds
	mono time.Duration
}

// read runs f on the queue as it stands.
func (q *modelQueue) read(ctx context.Context, f func(*moment) error) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.isClosed {
		return queue.ErrClosed
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return f(&moment{q, q.clock.Now().Truncate(time.Millisecond).UTC(), q.clock.Mono()})
}

// write is read for an f that changes something, or answers an error and changes
// nothing.
func (q *modelQueue) write(ctx context.Context, f func(*moment) error) error {
	return q.read(ctx, func(m *moment) error {
		err := f(m)
		if err == nil {
			m.signal()
		}
		return err
	})
}

// find answers a job that is there.
func (m *moment) find(ref queue.Ref) (*record, error) {
	i := slices.IndexFunc(m.jobs, func(r *record) bool {
		return r.job.ID == ref.ID || ref.ID == 0 && r.job.Kind == ref.Kind && r.job.Key == ref.Key
	})
	if i >= 0 {
		return m.jobs[i], nil
	}
	for name, r := range m.pruned {
		if r.job.ID == ref.ID || name == ref {
			return nil, fmt.Errorf("job %s was pruned: %w", ref, queue.ErrNotFound)
		}
	}
	return nil, fmt.Errorf("job %s: %w", ref, queue.ErrNotFound)
}

// move is the one way by which a job that is there changes its state, but for
// promote. The entry tells about the run what the job no longer does.
func (m *moment) move(r *record, e queue.Event, to queue.State, about queue.Entry) error {
	if err := allowed(r.job.State, e, to); err != nil {
		return err
	}
	about.Event, about.From, about.To = e, r.job.State, to
	r.job.State, r.job.UpdatedAt, r.job.FinishedAt = to, m.now, time.Time{}
	if to.Finished() {
		r.job.FinishedAt = m.now
	}
	if to == queue.StateQuarantined || r.job.ExternalEffectsPossible {
		r.job.NeedsReview = true
	}
	if !e.Settles() {
		r.settled = nil
	}
	m.record(r, about)
	return nil
}

// record adds to the history.
func (m *moment) record(r *record, e queue.Entry) {
	e.At, e.LastAt, e.Count = m.now, m.now, 1
	e.Attempt = cmp.Or(e.Attempt, r.job.Attempt)
	e.Fence, e.LastFence = r.job.Fence, r.job.Fence
	r.history = append(r.history, e)
}

// allowed asks the rules whether the event may lead from one state to the other.
func allowed(from queue.State, e queue.Event, to queue.State) error {
	move, err := queue.Allowed(from, e)
	if err == nil && !slices.Contains(move.To, to) {
		err = fmt.Errorf("%s of a %s job cannot lead to %s: %w", e, from, to, queue.ErrConflict)
	}
	return err
}

// joined is what is not empty of the texts, as one sentence.
func joined(texts ...string) string {
	all := ""
	for _, text := range texts {
		if all != "" && text != "" {
			all += "; "
		}
		all += text
	}
	return all
}
