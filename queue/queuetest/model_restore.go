package queuetest

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/b1213022/bailiff/queue"
)

// modelSnapshot is a copy of a store.
type modelSnapshot struct {
	store *modelStore
	taken time.Time
}

// Backup copies the queue.
func (s *modelStore) Backup(ctx context.Context) (Snapshot, queue.Backup, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, queue.Backup{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := s.clock.Now().Truncate(time.Millisecond).UTC()
	return &modelSnapshot{s.copied(), taken}, queue.Backup{TakenAt: taken, Jobs: s.stored()}, nil
}

// copied is a store with the same in it.
func (s *modelStore) copied() *modelStore {
	c := &modelStore{
		clock: s.clock, random: s.random, uid: s.uid, floor: s.floor, nextID: s.nextID,
		kinds: maps.Clone(s.kinds), pruned: maps.Clone(s.pruned), watchers: map[*modelWatch]bool{},
	}
	for _, r := range s.jobs {
		same := *r
		same.history = slices.Clone(r.history)
		if r.held != nil {
			held := *r.held
			same.held = &held
		}
		c.jobs = append(c.jobs, &same)
	}
	return c
}

// stored counts the jobs as they are stored: one that fell due and was not promoted
// is scheduled.
func (s *modelStore) stored() (c queue.Counts) {
	for _, r := range s.jobs {
		count(&c, r.job.State)
	}
	return c
}

// Restore makes a queue of the copy, in which nothing runs that might have run
// since it was taken.
func (s *modelSnapshot) Restore(ctx context.Context) (Store, queue.Restored, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, queue.Restored{}, err
	}
	q := &modelQueue{modelStore: s.store.copied()}
	m := &moment{modelQueue: q, now: q.clock.Now().Truncate(time.Millisecond).UTC(), mono: q.clock.Mono()}
	extra := rand.Int64N(1 << 31)
	raised := func(fence int64) int64 { return max(fence+1<<32, m.now.UnixMilli()) + extra }
	q.floor = raised(q.floor)
	q.nextID += 1_000_000 - 1 // above the highest there ever was
	answer := queue.Restored{TakenAt: s.taken, FenceFloor: q.floor, NextID: q.nextID}
	for _, r := range q.jobs {
		about := queue.Entry{Detail: "restored from a snapshot"}
		if r.held != nil {
			about.Worker = r.held.worker
		}
		r.job.Fence = raised(r.job.Fence)
		r.held, r.settled, r.boot = nil, nil, ""
		r.job.NeedsReview = r.job.NeedsReview || r.job.State != queue.StateDone
		if _, err := queue.Allowed(r.job.State, queue.EventRestore); err != nil {
			continue // nothing of it was left to do
		}
		answer.Quarantined++
		r.job.ExternalEffectsPossible, r.job.LastError = true, about.Detail
		if err := m.move(r, queue.EventRestore, queue.StateQuarantined, about); err != nil {
			return nil, queue.Restored{}, err
		}
	}
	answer.Jobs = q.stored()
	return q.modelStore, answer, nil
}
