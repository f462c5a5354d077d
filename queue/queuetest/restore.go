package queuetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/b1213022/bailiff/queue"
)

var restoreRules = rules{
	"a restored queue has every job with its history":                   (*fixture).restoredWhole,
	"what was not finished is quarantined":                              (*fixture).restoredQuarantine,
	"a backup leaves the queue as it was":                               (*fixture).backupLeaves,
	"a backup holds what was acknowledged before it":                    (*fixture).backupHolds,
	"every fence rises far above what can have been given out":          (*fixture).restoredFences,
	"new ids begin far above the highest there was":                     (*fixture).restoredIDs,
	"two restores of one snapshot never give out the same":              (*fixture).restoredTwice,
	"no token of the old queue is good for anything":                    (*fixture).restoredTokens,
	"what ran since may have happened: it is requeued only as reviewed": (*fixture).restoredReview,
	"keys stay taken, of pruned jobs too":                               (*fixture).restoredKeys,
	"idempotency keys stay":                                             (*fixture).restoredIdempotencyKeys,
	"a paused kind stays paused":                                        (*fixture).restoredPause,
	"the old queue goes on untouched":                                   (*fixture).oldGoesOn,
	"the receipts count the jobs":                                       (*fixture).receipts,
	"a restored queue can be restored again":                            (*fixture).restoredAgain,
}

// snapshot backs the queue up.
func (f *fixture) snapshot() (Snapshot, queue.Backup) {
	f.Helper()
	s, receipt, err := f.store.Backup(f.Context())
	if err != nil {
		f.Fatalf("backup: %v", err)
	}
	return s, receipt
}

// restored is the queue that a snapshot makes.
func (f *fixture) restored(s Snapshot) (*fixture, queue.Restored) {
	f.Helper()
	store, receipt, err := s.Restore(f.Context())
	if err != nil {
		f.Fatalf("restore: %v", err)
	}
	other := *f
	other.store = store
	other.Queue = other.open()
	return &other, receipt
}

// restores goes on with what a snapshot of the queue makes.
func (f *fixture) restores() queue.Restored {
	f.Helper()
	s, _ := f.snapshot()
	other, receipt := f.restored(s)
	f.store, f.Queue = other.store, other.Queue
	return receipt
}

func (f *fixture) restoredWhole() {
	f.everyState()
	f.clock.Advance(time.Minute)
	before := f.everything()
	stories := map[int64][]queue.Entry{}
	for _, job := range before {
		stories[job.ID] = f.story(job.ID)
	}
	f.restores()
	after := f.everything()
	if len(after) != len(before) {
		f.Fatalf("%d jobs of %d", len(after), len(before))
	}
	for i, old := range before {
		job := f.get(after[i].ID)
		if job.ID != old.ID || job.Kind != old.Kind || job.Key != old.Key || string(job.Payload) != `{"n":1}` ||
			!job.CreatedAt.Equal(old.CreatedAt) || job.Attempt != old.Attempt || job.Priority != old.Priority {
			f.Errorf("was %+v, is %+v", old, job)
		}
		story, was := f.story(old.ID), stories[old.ID]
		_, refused := queue.Allowed(old.State, queue.EventRestore)
		if refused == nil {
			last := story[len(story)-1]
			if last.Event != queue.EventRestore || last.From != old.State || last.To != queue.StateQuarantined || last.Detail == "" || !last.At.Equal(f.clock.Now()) {
				f.Errorf("history %+v", last)
			}
			story = story[:len(story)-1]
		}
		if fmt.Sprintf("%+v", story) != fmt.Sprintf("%+v", was) {
			f.Errorf("history of job %d was\n%+v\nand is\n%+v", old.ID, was, story)
		}
	}
	f.counted()
}

func (f *fixture) restoredQuarantine() {
	f.everyState()
	f.clock.Advance(time.Hour) // what was scheduled is due
	before := f.everything()
	receipt := f.restores()
	for _, old := range before {
		job := f.get(old.ID)
		if !slices.Contains([]queue.State{queue.StateScheduled, queue.StateReady, queue.StateLeased}, old.State) {
			if job.State != old.State || !job.FinishedAt.Equal(old.FinishedAt) || job.LastError != old.LastError {
				f.Errorf("was %+v, is %+v", old, job)
			}
			continue
		}
		if job.State != queue.StateQuarantined || job.LastError == "" || !job.NeedsReview || job.Worker != "" {
			f.Errorf("was %+v, is %+v", old, job)
		}
	}
	if receipt.Quarantined != 6 || receipt.Jobs.Quarantined != 8 {
		f.Errorf("%+v", receipt)
	}
	if got := f.claims(want("", 99, rule)); len(got) != 0 {
		f.Errorf("claimed %s", keysOf(got))
	}
	if got := f.expires(); len(got) != 0 {
		f.Errorf("expired %+v", got)
	}
}

func (f *fixture) backupLeaves() {
	f.everyState()
	before := f.picture()
	s, _ := f.snapshot()
	f.unchanged(before, "a backup")
	f.restored(s)
	f.unchanged(before, "a restore")
}

func (f *fixture) backupHolds() {
	f.add("a", "before")
	s, receipt := f.snapshot()
	f.add("a", "after")
	other, _ := f.restored(s)
	if got := keysIn(other.everything()); got != "before" {
		f.Errorf("restored %s", got)
	}
	if receipt.TakenAt.Sub(f.clock.Now()).Abs() > time.Millisecond {
		f.Errorf("taken at %v", receipt.TakenAt)
	}
}

func (f *fixture) restoredFences() {
	f.everyState()
	before := f.everything()
	f.clock.Advance(time.Minute)
	receipt := f.restores()
	least := func(old int64) int64 { return max(old+1<<32, f.clock.Now().UnixMilli()) }
	for _, old := range before {
		if job := f.get(old.ID); job.Fence < least(old.Fence) || job.Fence > queue.MaxID {
			f.Errorf("fence %d became %d", old.Fence, job.Fence)
		}
	}
	if receipt.FenceFloor < least(0) || receipt.FenceFloor > queue.MaxID {
		f.Errorf("floor %d", receipt.FenceFloor)
	}
	job := f.add("c", "1")
	if c := f.claim("c", rule); job.Fence != receipt.FenceFloor || c.Lease.Fence != receipt.FenceFloor+1 {
		f.Errorf("a new job's fence is %d, its run's %d, floor %d", job.Fence, c.Lease.Fence, receipt.FenceFloor)
	}
}

func (f *fixture) restoredIDs() {
	f.add("a", "1")
	old := f.pruned(newJob("b", "1")) // the highest there ever was
	receipt := f.restores()
	if job := f.add("a", "2"); job.ID != receipt.NextID || job.ID < old.ID+1_000_000 {
		f.Errorf("id %d after %d, told %d", job.ID, old.ID, receipt.NextID)
	}
}

func (f *fixture) restoredTwice() {
	id := f.add("a", "1").ID
	s, _ := f.snapshot()
	one, first := f.restored(s)
	two, second := f.restored(s)
	if first.FenceFloor == second.FenceFloor || one.get(id).Fence == two.get(id).Fence {
		f.Errorf("both begin at %d, and %d", first.FenceFloor, one.get(id).Fence)
	}
	one.add("b", "1")
	if got := keysIn(two.everything()); got != "1" {
		f.Errorf("the other has %s", got)
	}
}

func (f *fixture) restoredTokens() {
	f.add("a", "held")
	held := f.claim("a", rule)
	f.add("a", "done")
	done := f.claim("a", rule)
	f.settles(done, queue.Outcome{Is: queue.RunDone})
	f.restores()
	before := f.picture()
	if r := f.renew(held, leaseLength); r.Err == nil {
		f.Error("renewed")
	} else {
		f.refused(r.Err, queue.ErrLeaseLost)
	}
	for _, c := range []queue.Claimed{held, done} {
		_, err := f.settle(c, queue.Outcome{Is: queue.RunDone})
		f.refused(err, queue.ErrLeaseLost)
	}
	f.unchanged(before, "an old token")
}

func (f *fixture) restoredReview() {
	f.everyState()
	before := f.everything()
	f.restores()
	for _, old := range before {
		if old.State == queue.StateDone {
			continue
		}
		f.needsReview(old.ID, "when it was restored as "+string(old.State))
		if job, err := f.Requeue(f.Context(), queue.Ref{ID: old.ID}, queue.Requeue{Reviewed: true}); err != nil || job.State != queue.StateReady || job.Attempt != 0 {
			f.Errorf("was %s: %+v, %v", old.State, job, err)
		}
	}
	if got := f.claims(want("", 99, rule)); len(got) != len(before)-2 {
		f.Errorf("claimed %s", keysOf(got))
	}
	f.counted()
}

func (f *fixture) restoredKeys() {
	n := newJob("a", "1")
	old := f.pruned(n)
	f.add("a", "2")
	f.restores()
	if e, err := f.Enqueue(f.Context(), n); err != nil || !e.Pruned || e.Job.ID != old.ID {
		f.Errorf("the pruned one: %+v, %v", e, err)
	}
	f.replays(newJob("a", "2"))
	other := n
	other.MaxAttempts = 9
	f.conflicts(other, "limit")
}

func (f *fixture) restoredIdempotencyKeys() {
	old := f.add("a", "1")
	f.restores()
	if job := f.get(old.ID); job.IdempotencyKey != old.IdempotencyKey {
		f.Errorf("was %s, is %s", old.IdempotencyKey, job.IdempotencyKey)
	}
}

func (f *fixture) restoredPause() {
	f.add("a", "1")
	if err := f.Pause(f.Context(), "a", true); err != nil {
		f.Fatal(err)
	}
	f.restores()
	f.add("a", "2")
	if got := f.claims(want("", 9, rule)); len(got) != 0 {
		f.Errorf("claimed %s", keysOf(got))
	}
}

func (f *fixture) oldGoesOn() {
	f.add("a", "1")
	c := f.claim("a", rule)
	s, _ := f.snapshot()
	other, _ := f.restored(s)
	if r := f.renew(c, leaseLength); r.Err != nil {
		f.Errorf("renew: %v", r.Err)
	}
	f.settles(c, queue.Outcome{Is: queue.RunDone})
	if got := other.get(c.Job.ID).State; got != queue.StateQuarantined {
		f.Errorf("in the restored one it is %s", got)
	}
}

func (f *fixture) receipts() {
	f.everyState()
	s, backup := f.snapshot()
	counts := queue.Counts{Scheduled: 2, Ready: 2, Leased: 2, Done: 2, Dead: 2, Quarantined: 2, Cancelled: 2}
	if backup.Jobs != counts {
		f.Errorf("backed up %+v", backup.Jobs)
	}
	f.clock.Advance(time.Minute)
	_, receipt := f.restored(s)
	if want := (queue.Counts{Done: 2, Dead: 2, Quarantined: 8, Cancelled: 2}); receipt.Jobs != want || receipt.Quarantined != 6 || !receipt.TakenAt.Equal(backup.TakenAt) {
		f.Errorf("restored %+v", receipt)
	}
}

func (f *fixture) restoredAgain() {
	f.add("a", "1")
	first := f.restores()
	f.clock.Advance(time.Minute)
	f.add("a", "2")
	second := f.restores()
	if second.FenceFloor <= first.FenceFloor || second.NextID < first.NextID+1_000_000 {
		f.Errorf("first %+v, then %+v", first, second)
	}
	if got := keysIn(f.everything()); got != "1 2" {
		f.Errorf("it has %s", got)
	}
}
