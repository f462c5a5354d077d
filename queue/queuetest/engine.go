package queuetest

import (
	"context"
	"testing"

	"github.com/b1213022/bailiff/queue"
)

// Queue is what every engine answers to. What each method does is told by package
// queue beside its arguments and answers.
type Queue interface {
	Enqueue(ctx context.Context, n queue.NewJob) (queue.Enqueued, error)
	EnqueueMany(ctx context.Context, jobs []queue.NewJob) ([]queue.EnqueueResult, error)

	Claim(ctx context.Context, r queue.ClaimRequest) ([]queue.Claimed, error)
	Renew(ctx context.Context, list []queue.Renewal) ([]queue.Renewed, error)
	Settle(ctx context.Context, s queue.Settlement) (queue.Settled, error)
	Expire(ctx context.Context) ([]queue.Expired, error)
	Note(ctx context.Context, id, fence int64, text string) error

	Cancel(ctx context.Context, ref queue.Ref) (queue.Job, error)
	CloseJob(ctx context.Context, ref queue.Ref, f queue.Finding) (queue.Job, error)
	Requeue(ctx context.Context, ref queue.Ref, r queue.Requeue) (queue.Job, error)
	RequeueMany(ctx context.Context, r queue.RequeueMany) (queue.RequeuedMany, error)
	Rerun(ctx context.Context, ref queue.Ref, r queue.Rerun) (queue.Enqueued, error)
	Pause(ctx context.Context, kind string, paused bool) error
	Prune(ctx context.Context, p queue.Pruning) (queue.Pruned, error)

	Get(ctx context.Context, ref queue.Ref) (queue.Job, error)
	List(ctx context.Context, f queue.Filter) ([]queue.Job, error)
	History(ctx context.Context, id int64, limit int) ([]queue.Entry, error)
	Metrics(ctx context.Context) (queue.Metrics, error)
	Agenda(ctx context.Context, kinds []string) (queue.Agenda, error)
	Changes(ctx context.Context) (<-chan struct{}, error)

	Close() error
}

// Engine makes queues.
type Engine interface {
	// New makes a new, empty queue that lives by the clock and takes its jitter from
	// random. It is gone when the test has ended.
	New(t testing.TB, c queue.Clock, random func() float64) Store
}

// Store is the place where one queue is kept.
type Store interface {
	// Open opens the queue, beside the handles on it that are open. Whoever opens it
	// closes it.
	Open(ctx context.Context) (Queue, error)
	// Backup takes a snapshot of the queue, open or not.
	Backup(ctx context.Context) (Snapshot, queue.Backup, error)
}

// Snapshot is a copy of a queue that is not used as one.
type Snapshot interface {
	// Restore makes another queue of it, and can do so again.
	Restore(ctx context.Context) (Store, queue.Restored, error)
}
