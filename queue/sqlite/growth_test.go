package sqlite_test

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/b1213022/bailiff/queue"
)

// What is in the big database. The jobs that are done or scheduled, and half of the
// dead ones, are of the kind that is worked on.
const (
	bigDone      = 1_000_000
	bigScheduled = 100_000
	bigReady     = 100_000 // of two other kinds
	bigPaused    = 20_000
	bigDead      = 20_000
)

// BenchmarkGrowth tells what a database that has grown costs: each operation in it
// and in an empty one by turns, and how the medians compare; then the same while
// all that was scheduled has just fallen due; then the looks that people take. It
// runs once, however often it is asked to, and takes about a minute. The folder
// should be on the disk that it is about: TMPDIR says which.
func BenchmarkGrowth(b *testing.B) {
	empty, big := newFixture(b), newFixture(b)
	big.grow()
	b.ResetTimer()
	compareWork(b, "big", empty, big)
	look(b, "", big)
	big.clock.Advance(24 * time.Hour)
	empty.clock.Advance(24 * time.Hour)
	look(b, " fallen due", big)
	compareWork(b, "fallen due", empty, big)
	reopened(b, big)
	b.ReportMetric(0, "ns/op")
}

// BenchmarkBytes tells what a finished job takes in the file, with its history, and
// what is left of it when it was pruned.
func BenchmarkBytes(b *testing.B) {
	const jobs = 100_000
	f := newFixture(b)
	template := f.template("mail", queue.RunDone)
	before := f.size()
	f.copyJobs(template, jobs, "welcome-%06d")
	b.ReportMetric(float64(f.size()-before)/jobs, "B/job")
	f.clock.Advance(time.Hour)
	for more := true; more; {
		p, err := f.Prune(b.Context(), queue.Pruning{Keep: queue.Retention{Done: time.Minute}, Limit: queue.MaxBatch})
		if err != nil {
			b.Fatal(err)
		}
		more = p.More
	}
	b.ReportMetric(float64(f.size()-before)/jobs, "B/remembered")
	b.ReportMetric(0, "ns/op")
}

// grow fills a database with all that the big one has.
func (f *fixture) grow() {
	f.Helper()
	done, dead, other := f.template("a", queue.RunDone), f.template("a", queue.RunDead), f.template("b", queue.RunDead)
	f.copyJobs(done, bigDone, "done-%07d")
	f.copyJobs(dead, bigDead/2, "dead-%05d")
	f.copyJobs(other, bigDead/2, "dead-%05d")
	f.fill("a", bigScheduled, f.clock.Now().Add(time.Hour))
	f.fill("b", bigReady/2, time.Time{})
	f.fill("c", bigReady/2, time.Time{})
	f.fill("paused", bigPaused, time.Time{})
	if err := f.Pause(f.Context(), "paused", true); err != nil {
		f.Fatal(err)
	}
}

// fill enqueues jobs.
func (f *fixture) fill(kind string, n int, at time.Time) {
	f.Helper()
	jobs := make([]queue.NewJob, 0, queue.MaxBatch)
	for i := range n {
		job := newJob(kind, fmt.Sprintf("wait-%06d", i))
		job.AvailableAt = at
		if jobs = append(jobs, job); len(jobs) < queue.MaxBatch && i < n-1 {
			continue
		}
		if _, err := f.EnqueueMany(f.Context(), jobs); err != nil {
			f.Fatal(err)
		}
		jobs = jobs[:0]
	}
}

// template makes a job that ended, and answers its id.
func (f *fixture) template(kind string, end queue.RunEnd) int64 {
	f.Helper()
	job := f.add(newJob(kind, "template-"+string(end)))
	f.clock.Advance(time.Millisecond)
	f.settles(f.claimOne(kind, queue.Rule{}), queue.Outcome{Is: end})
	return job.ID
}

// copyJobs writes jobs as the engine wrote one: with other ids, keys, tokens and
// times.
func (f *fixture) copyJobs(template int64, n int, key string) {
	f.Helper()
	db := raw(f, f.Path())
	db.SetMaxOpenConns(1)
	mustExec(f, db, `PRAGMA synchronous = OFF`)
	mustExec(f, db, `CREATE TEMP TABLE source AS SELECT * FROM jobs WHERE id = ?`, template)
	mustExec(f, db, `CREATE TEMP TABLE n AS WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2)
		SELECT i, i + (SELECT max(id) FROM jobs) AS id FROM n`, n, n)
	mustExec(f, db, `INSERT INTO jobs (id, kind_id, key, state, priority, due_at, attempt, named_limit, last_limit, fence,
		effects_possible, needs_review, created_at, updated_at, finished_at, last_error, settled_token, settled_outcome)
		SELECT n.id, kind_id, printf(?, i), state, priority, due_at + i, attempt, named_limit, last_limit, fence,
		effects_possible, needs_review, created_at + i, updated_at + i, finished_at + i, last_error, randomblob(16), settled_outcome
		FROM n, source ORDER BY n.id`, key)
	mustExec(f, db, `INSERT INTO job_data SELECT n.id, digest, payload, meta FROM n, job_data WHERE job_id = ? ORDER BY n.id`, template)
	mustExec(f, db, `INSERT INTO history SELECT n.id, seq, at + i, event, from_state, to_state, attempt, fence, worker_id, handler_id,
		detail, count, last_at, last_fence FROM n CROSS JOIN history WHERE job_id = ? ORDER BY n.id, seq`, template)
	mustExec(f, db, `UPDATE counts SET n = n + ? FROM temp.source s WHERE counts.kind_id = s.kind_id AND counts.state = s.state`, n)
	mustExec(f, db, `DROP TABLE temp.source`)
	mustExec(f, db, `DROP TABLE temp.n`)
	if err := db.Close(); err != nil {
		f.Fatal(err)
	}
}

// size is how many bytes of the file are in use.
func (f *fixture) size() int64 {
	f.Helper()
	var pages, free, size int64
	db := raw(f, f.Path())
	for name, n := range map[string]*int64{"page_count": &pages, "freelist_count": &free, "page_size": &size} {
		if err := db.QueryRow(`PRAGMA ` + name).Scan(n); err != nil {
			f.Fatal(err)
		}
	}
	return (pages - free) * size
}

// compareWork measures the operations of a worker in two databases by turns.
func compareWork(b *testing.B, what string, empty, big *fixture) {
	b.Helper()
	const rounds = 200
	took := map[string][2][]time.Duration{}
	for i := range rounds {
		for which, f := range []*fixture{empty, big} {
			measure := func(op string, do func()) {
				began := time.Now()
				do()
				t := took[op]
				t[which] = append(t[which], time.Since(began))
				took[op] = t
			}
			n := newJob("a", fmt.Sprintf("%s-%d", what, i))
			n.Priority = 1
			var c queue.Claimed
			measure("enqueue", func() { f.add(n) })
			measure("claim", func() { c = f.claimOne("a", queue.Rule{}) })
			measure("settle", func() { f.settles(c, queue.Outcome{Is: queue.RunDone}) })
		}
	}
	for _, op := range []string{"enqueue", "claim", "settle"} {
		a, z := median(took[op][0]), median(took[op][1])
		say("%-8s empty %8v  %s %8v  ratio %.2f", op, a, what, z, float64(z)/float64(a))
		b.ReportMetric(float64(z)/float64(a), what[:3]+"-"+op+"-ratio")
	}
}

// say prints a line at once: a benchmark's own log is cut to ten.
func say(format string, args ...any) { fmt.Printf(format+"\n", args...) }

func median(list []time.Duration) time.Duration {
	slices.Sort(list)
	return list[len(list)/2].Round(time.Microsecond)
}

// look measures what people ask of the big database.
func look(b *testing.B, when string, f *fixture) {
	b.Helper()
	ctx := b.Context()
	const rounds = 15
	states := func(s ...queue.State) queue.Filter { return queue.Filter{States: s} }
	with := func(g queue.Filter, kind, prefix string) queue.Filter {
		g.Kind, g.KeyPrefix = kind, prefix
		return g
	}
	acts := []struct {
		name string
		do   func() error
	}{
		{"metrics", func() error { _, err := f.Metrics(ctx); return err }},
		{"agenda", func() error { _, err := f.Agenda(ctx, []string{"a", "b"}); return err }},
		{"get by id", func() error { _, err := f.Get(ctx, queue.Ref{ID: 500_000}); return err }},
		{"get by key", func() error { _, err := f.Get(ctx, queue.Ref{Kind: "a", Key: "done-0777777"}); return err }},
		{"history", func() error { _, err := f.History(ctx, 500_000, 0); return err }},
	}
	filters := map[string]queue.Filter{"": {}, "attention": states(queue.StateDead, queue.StateQuarantined), "stuck": {Stuck: true}}
	for _, s := range queue.States() {
		filters[string(s)] = states(s)
	}
	for name, g := range filters {
		for _, kind := range []string{"", "a", "b", "paused", "none"} {
			for _, prefix := range []string{"", "d", "done-07777", "dead-", "wait-0999", "x"} {
				g := with(g, kind, prefix)
				acts = append(acts, struct {
					name string
					do   func() error
				}{fmt.Sprintf("list %s %s %s", name, kind, prefix), func() error { _, err := f.List(ctx, g); return err }})
			}
		}
	}
	worst := time.Duration(0)
	for _, act := range acts {
		var took []time.Duration
		for range rounds {
			began := time.Now()
			if err := act.do(); err != nil {
				b.Fatal(act.name, err)
			}
			took = append(took, time.Since(began))
		}
		m := median(took)
		if worst = max(worst, m); m > 3*time.Millisecond || act.name[:4] != "list" {
			say("%-40s%s %v", act.name, when, m)
		}
	}
	say("of %d looks%s the worst took %v", len(acts), when, worst)
}

// reopened measures opening.
func reopened(b *testing.B, f *fixture) {
	b.Helper()
	var took []time.Duration
	for range 15 {
		if err := f.Close(); err != nil {
			b.Fatal(err)
		}
		began := time.Now()
		f.Queue = f.open(f.Path())
		took = append(took, time.Since(began))
	}
	info, err := os.Stat(f.Path())
	if err != nil {
		b.Fatal(err)
	}
	say("open %v, file of %d MiB", median(took), info.Size()>>20)
}
