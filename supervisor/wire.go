package supervisor

import (
	"time"

	"github.com/b1213022/bailiff/childproto"
	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/supervisor/config"
)

// wireJob is a claimed job as its handler is told of it, its time beginning
// at now. This is the one place where the queue's jobs and the wire's meet.
func wireJob(job *queue.Job, h *config.Handler, now time.Time) *childproto.Job {
	j := &childproto.Job{
		ID:             job.ID,
		Kind:           job.Kind,
		Key:            job.Key,
		IdempotencyKey: job.IdempotencyKey,
		Fence:          job.Fence,
		Attempt:        job.Attempt,
		MaxAttempts:    job.MaxAttempts,
		DueAt:          job.AvailableAt,
		Timeout:        h.Timeout,
		Payload:        job.Payload,
		Meta:           job.Meta,
	}
	if h.Timeout > 0 {
		j.TimeoutAt = now.Add(h.Timeout)
	}
	for _, e := range job.Effects {
		j.Effects = append(j.Effects, childproto.Effect{Name: e.Name, State: string(e.State)})
	}
	return j
}
