package sqlite_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/b1213022/bailiff/queue"
)

// anHour is a retention of an hour for everything.
var anHour = queue.Retention{Done: time.Hour, Dead: time.Hour, Cancelled: time.Hour}

// prunes makes a prune that must not fail.
func (f *fixture) prunes(p queue.Pruning) queue.Pruned {
	f.Helper()
	answer, err := f.Prune(f.Context(), p)
	if err != nil {
		f.Fatal(err)
	}
	return answer
}

// prunesAll prunes until there is no more, and answers what came of all calls.
func (f *fixture) prunesAll(p queue.Pruning) (all queue.Pruned) {
	f.Helper()
	for {
		answer := f.prunes(p)
		all.Jobs += answer.Jobs
		all.Freed += answer.Freed
		if !answer.More {
			return all
		}
	}
}

// doneJob makes a job that is done.
func (f *fixture) doneJob(n queue.NewJob) queue.Job {
	f.Helper()
	job := f.add(n)
	f.settles(f.claimOne(n.Kind, queue.Rule{}), queue.Outcome{Is: queue.RunDone, Result: jsontext.Value(`{"ok":true}`)})
	return job
}

// stands lists the jobs that are there, by id.
func (f *fixture) stands() []int64 {
	f.Helper()
	jobs, err := f.List(f.Context(), queue.Filter{Limit: queue.MaxPage})
	if err != nil {
		f.Fatal(err)
	}
	ids := make([]int64, len(jobs))
	for i, j := range jobs {
		ids[i] = j.ID
	}
	return ids
}

// rows counts what the file holds of some jobs, or of all.
func (f *fixture) rows(ids ...int64) map[string]int {
	f.Helper()
	db := raw(f, f.Path())
	count := map[string]int{}
	for table, id := range map[string]string{
		"jobs": "id", "job_data": "job_id", "results": "job_id", "history": "job_id", "effects": "job_id", "remembered": "job_id",
	} {
		query := `SELECT count(*) FROM ` + table
		if len(ids) > 0 {
			query += ` WHERE ` + id + ` IN (` + strings.Trim(strings.ReplaceAll(fmt.Sprint(ids), " ", ", "), "[]") + `)`
		}
		n := 0
		if err := db.QueryRow(query).Scan(&n); err != nil {
			f.Fatal(err)
		}
		count[table] = n
	}
	_ = db.Close()
	return count
}

func TestPruneForgetsWhatIsFinished(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	kept := map[queue.State]queue.Ref{}
	for _, state := range []queue.State{queue.StateQuarantined, queue.StateScheduled, queue.StateLeased, queue.StateReady} {
		kept[state] = f.brings(string(state), state)
	}
	gone := map[queue.State]queue.Ref{}
	var ids []int64
	for _, state := range []queue.State{queue.StateDone, queue.StateDead, queue.StateCancelled} {
		gone[state] = f.brings(string(state), state)
		ids = append(ids, gone[state].ID)
	}
	f.clock.Advance(time.Minute)
	p := queue.Pruning{Keep: queue.Retention{Done: time.Minute, Dead: time.Minute, Cancelled: time.Minute}, DryRun: true}
	if got := f.prunes(p); got != (queue.Pruned{Jobs: 3}) {
		t.Errorf("dry run: %+v", got)
	}
	if n := f.rows()["jobs"]; n != 7 {
		t.Errorf("a dry run left %d of 7 jobs", n)
	}
	p.DryRun = false
	if got := f.prunes(p); got != (queue.Pruned{Jobs: 3}) {
		t.Errorf("prune: %+v", got)
	}
	if got, want := f.rows(ids...), map[string]int{"jobs": 0, "job_data": 0, "results": 0, "history": 0, "effects": 0, "remembered": 3}; !maps.Equal(got, want) {
		t.Errorf("left of them: %v, want %v", got, want)
	}
	m, err := f.Metrics(t.Context())
	if want := (queue.Counts{Scheduled: 1, Ready: 1, Leased: 1, Quarantined: 1}); err != nil || m.Counts != want || m.Kinds["a"].Counts != want {
		t.Errorf("counts: %+v, %v, want %+v", m, err, want)
	}
	for state, ref := range kept {
		if job, err := f.Get(t.Context(), ref); err != nil || job.State != state {
			t.Errorf("the %s job: %+v, %v", state, job, err)
		}
	}
	if got := f.prunes(p); got != (queue.Pruned{}) {
		t.Errorf("once more: %+v", got)
	}
	f.reopen()
	for state, ref := range gone {
		f.remembers(ref.ID, state)
	}
}

func TestPruneHoldsToTheRetention(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, state := range []queue.State{queue.StateDone, queue.StateDead, queue.StateCancelled} { // 1, 2, 3
		f.brings(string(state), state)
	}
	for _, c := range []struct {
		after time.Duration
		keep  queue.Retention
		left  []int64
	}{
		{1000 * time.Hour, queue.Retention{}, []int64{1, 2, 3}},
		{0, queue.Retention{Done: 1000*time.Hour + 1}, []int64{1, 2, 3}},
		{0, queue.Retention{Done: 1000 * time.Hour, Dead: 1 << 62}, []int64{2, 3}},
		{time.Millisecond, queue.Retention{Cancelled: 1000*time.Hour + time.Millisecond}, []int64{2}},
		{0, queue.Retention{Done: 1, Cancelled: 1}, []int64{2}},
		{0, queue.Retention{Dead: 1}, []int64{}},
	} {
		f.clock.Advance(c.after)
		f.prunes(queue.Pruning{Keep: c.keep})
		if got := f.stands(); !slices.Equal(got, c.left) {
			t.Errorf("%+v leaves %v, want %v", c.keep, got, c.left)
		}
	}
}

// The oldest end goes first, whatever the job's kind, state and id.
func TestPruneTakesTheOldestFirst(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for i, kind := range []string{"a", "b", "a", "b", "c", "a"} {
		f.add(newJob(kind, fmt.Sprint(i+1)))
	}
	ends := func(id int64, end queue.RunEnd) {
		job := f.get(id)
		if end == "" {
			if _, err := f.Cancel(t.Context(), queue.Ref{ID: id}); err != nil {
				t.Fatal(err)
			}
			return
		}
		for _, c := range f.claims(want(job.Kind, 1, queue.Rule{})) {
			if c.Job.ID != id {
				t.Fatalf("claimed %d, want %d", c.Job.ID, id)
			}
			f.settles(c, queue.Outcome{Is: end})
		}
	}
	ends(6, "")
	ends(3, "")
	ends(2, queue.RunDead) // at the same time: the lower id first
	f.clock.Advance(time.Second)
	ends(5, queue.RunDone)
	f.clock.Advance(time.Second)
	ends(1, queue.RunDone)
	f.clock.Advance(time.Second)
	ends(4, queue.RunDone)
	f.clock.Advance(time.Hour)
	if err := f.Pause(t.Context(), "b", true); err != nil { // is no reason to keep its jobs
		t.Fatal(err)
	}
	for _, c := range []struct {
		p    queue.Pruning
		want queue.Pruned
		left []int64
	}{
		{queue.Pruning{Limit: 1}, queue.Pruned{Jobs: 1, More: true}, []int64{1, 3, 4, 5, 6}},
		{queue.Pruning{Limit: 1, Kind: "a"}, queue.Pruned{Jobs: 1, More: true}, []int64{1, 4, 5, 6}},
		{queue.Pruning{Kind: "never"}, queue.Pruned{}, []int64{1, 4, 5, 6}},
		{queue.Pruning{Limit: 2}, queue.Pruned{Jobs: 2, More: true}, []int64{1, 4}},
		{queue.Pruning{Limit: 1, Kind: "a"}, queue.Pruned{Jobs: 1}, []int64{4}},
		{queue.Pruning{Limit: 1}, queue.Pruned{Jobs: 1}, []int64{}},
	} {
		c.p.Keep = anHour
		if got := f.prunes(c.p); got != c.want || !slices.Equal(f.stands(), c.left) {
			t.Errorf("%+v: %+v leaves %v, want %+v and %v", c.p, got, f.stands(), c.want, c.left)
		}
	}
	if m, err := f.Metrics(t.Context()); err != nil || len(m.Kinds) != 3 || !m.Kinds["b"].Paused {
		t.Errorf("the kinds after it: %+v, %v", m, err)
	}
}

// What a prune chose is looked at again under the lock.
func TestPruneAfterAnotherMovedTheJob(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	moved := f.brings("moved", queue.StateDead)
	f.brings("other", queue.StateDead)
	f.clock.Advance(time.Hour)
	var got queue.Pruned
	for _, err := range f.inOrder(
		func() error { _, err := f.Requeue(f.Context(), moved, queue.Requeue{}); return err },
		func() (err error) { got, err = f.Prune(f.Context(), queue.Pruning{Keep: anHour}); return err },
	) {
		if err != nil {
			t.Error(err)
		}
	}
	if got != (queue.Pruned{Jobs: 1}) || f.get(moved.ID).State != queue.StateReady {
		t.Errorf("%+v, jobs %v", got, f.stands())
	}
}

// A prune is one commit: after one that failed all of it stands as before.
func TestPruneIsOneCommit(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for i := range 20 {
		f.doneJob(newJob("a", fmt.Sprint(i)))
	}
	f.clock.Advance(time.Hour)
	before := f.rows()
	f.FailCommit(func(func() error) error { return trouble })
	if _, err := f.Prune(t.Context(), queue.Pruning{Keep: anHour}); err == nil {
		t.Error("a commit that failed was not told")
	}
	if got := f.rows(); !maps.Equal(got, before) {
		t.Errorf("after a commit that failed: %v, want %v", got, before)
	}
	f.FailCommit(func(commit func() error) error {
		if err := commit(); err != nil {
			return err
		}
		return trouble
	})
	if got := f.prunes(queue.Pruning{Keep: anHour}); got != (queue.Pruned{Jobs: 20}) {
		t.Errorf("after a commit that stands: %+v", got)
	}
	if got := f.rows(); got["jobs"] != 0 || got["remembered"] != 20 {
		t.Errorf("after a commit that stands: %v", got)
	}
}

// Jobs of long histories are fewer to a commit, and one goes however long its is.
func TestPruneOfLongHistories(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	db := raw(t, f.Path())
	for i, entries := range []int{1500, 1500, 9000, 1500} {
		job := f.doneJob(newJob("a", fmt.Sprint(i)))
		mustExec(t, db, `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2)
			INSERT INTO history (job_id, seq, at, event, from_state, to_state, attempt, fence)
			SELECT ?1, 100 + i, 0, 15, 4, 4, 1, 1 FROM n`, job.ID, entries)
	}
	f.clock.Advance(time.Hour)
	for i, want := range []queue.Pruned{{Jobs: 2, More: true}, {Jobs: 1, More: true}, {Jobs: 1}} {
		if got := f.prunes(queue.Pruning{Keep: anHour}); got != want {
			t.Errorf("call %d: %+v, want %+v", i+1, got, want)
		}
	}
}

// A key that could not be remembered is not forgotten.
func TestPruneOfAJobWithoutData(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.doneJob(newJob("a", "1"))
	f.doneJob(newJob("a", "2"))
	f.clock.Advance(time.Hour)
	db := raw(t, f.Path())
	mustExec(t, db, `CREATE TABLE aside AS SELECT * FROM job_data WHERE job_id = 1`)
	mustExec(t, db, `DELETE FROM job_data WHERE job_id = 1`)
	if _, err := f.Prune(t.Context(), queue.Pruning{Keep: anHour}); err == nil || !strings.Contains(err.Error(), "of 2 jobs, 1 could be remembered") {
		t.Errorf("prune: %v", err)
	}
	if got := f.stands(); len(got) != 2 {
		t.Errorf("jobs %v stand", got)
	}
	mustExec(t, db, `INSERT INTO job_data SELECT * FROM aside`)
	mustExec(t, db, `DROP TABLE aside`)
	if got := f.prunes(queue.Pruning{Keep: anHour}); got != (queue.Pruned{Jobs: 2}) {
		t.Errorf("with its data: %+v", got)
	}
}
