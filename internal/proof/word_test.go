package proof

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/sqlite"
)

// word is what an answer of the queue promised: that a job exists, and that a move
// was recorded. A word stands from the moment it was told.
type word struct {
	Act     string
	ID      int64
	Kind    string `json:",omitzero"`
	Key     string `json:",omitzero"`
	Payload string `json:",omitzero"` // digest; of an enqueue

	// The row of the history that the answer is about; none without Event.
	Event  queue.Event `json:",omitzero"`
	To     queue.State `json:",omitzero"`
	Fence  int64       `json:",omitzero"`
	Result string      `json:",omitzero"` // digest; of a run that was done
}

func digest(text []byte) string {
	if len(text) == 0 {
		return ""
	}
	sum := sha256.Sum256(text)
	return fmt.Sprintf("%x", sum[:6])
}

// ledger are the words that were given about each job.
type ledger map[int64][]word

func (l ledger) add(w word) { l[w.ID] = append(l[w.ID], w) }

// broken tells which words the queue does not keep: a job that is not there, or is
// another one, or a move that its history does not tell of.
func (l ledger) broken(ctx context.Context, q *sqlite.Queue) (found []string) {
	keys := map[string]int64{}
	for id, words := range l {
		for _, w := range words {
			if w.Act != "enqueue" {
				continue
			}
			if other, ok := keys[w.Kind+"/"+w.Key]; ok && other != id {
				found = append(found, fmt.Sprintf("%s/%s is both %d and %d", w.Kind, w.Key, other, id))
			}
			keys[w.Kind+"/"+w.Key] = id
		}
		if err := keeps(ctx, q, id, words); err != nil {
			found = append(found, fmt.Sprintf("job %d: %v; was told %+v", id, err, words))
		}
	}
	return found
}

func keeps(ctx context.Context, q *sqlite.Queue, id int64, words []word) error {
	job, err := q.Get(ctx, queue.Ref{ID: id})
	if errors.Is(err, queue.ErrNotFound) {
		return wasPruned(q, words)
	}
	if err != nil {
		return err
	}
	history, err := q.History(ctx, id, queue.MaxHistory)
	if err != nil {
		return err
	}
	if len(history) == 0 || history[0].Event != queue.EventEnqueue {
		return fmt.Errorf("its history does not begin with its enqueue: %+v", history)
	}
	type move struct {
		event queue.Event
		to    queue.State
		fence int64
	}
	rows := map[move]int{}
	last := queue.Entry{}
	for _, e := range history {
		if e.Event != queue.EventNote {
			rows[move{e.Event, e.To, e.Fence}]++
			last = e
		}
	}
	if last.To != job.State && !(last.To == queue.StateScheduled && job.State == queue.StateReady) {
		return fmt.Errorf("it is %s and its history ends with %s", job.State, last.To)
	}
	for _, w := range words {
		switch {
		case w.Act == "enqueue" && (w.Kind != job.Kind || w.Key != job.Key || w.Payload != digest(job.Payload)):
			return fmt.Errorf("it is %s/%s with payload %s", job.Kind, job.Key, digest(job.Payload))
		case w.Result != "" && last.Event == w.Event && last.Fence == w.Fence && w.Result != digest(job.Result):
			return fmt.Errorf("its result is %s", digest(job.Result))
		case w.Event == "":
			continue
		}
		m := move{w.Event, w.To, w.Fence}
		if rows[m]--; rows[m] < 0 {
			return fmt.Errorf("its history does not tell of %+v: %+v", m, history)
		}
	}
	return nil
}

// wasPruned answers nil if the file remembers that it had the job and how it ended,
// which nobody need have been told.
func wasPruned(q *sqlite.Queue, words []word) error {
	r, err := openRaw(q.Path())
	if err != nil {
		return err
	}
	defer r.close()
	n, err := r.number(`SELECT count(*) FROM remembered WHERE job_id = ? AND state IN (4, 5, 7)`, words[0].ID)
	if err == nil && n != 1 {
		err = errors.New("it is gone")
	}
	return err
}
