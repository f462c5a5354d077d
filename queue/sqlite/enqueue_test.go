package sqlite_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/b1213022/bailiff/queue"
)

func TestSameKeyAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first := queue.NewJob{Kind: "mail", Key: "k", Payload: jsontext.Value(`{"a":1,"b":{"c":2}}`), MaxAttempts: 3}
	job := f.add(first)
	for _, c := range []struct {
		name    string
		payload string
		limit   int
		says    string // empty: a replay
	}{
		{"the same", `{"a":1,"b":{"c":2}}`, 3, ""},
		{"reordered and spaced", ` {"b": {"c":2}, "a":1}`, 3, ""},
		{"escapes", `{"\u0061":1,"b":{"c":2}}`, 3, ""},
		{"a field more", `{"a":1,"b":{"c":2},"d":3}`, 3, "/d"},
		{"a field less", `{"a":1}`, 3, "/b"},
		{"another number", `{"a":1,"b":{"c":3}}`, 3, "/b/c"},
		{"a number as text", `{"a":"1","b":{"c":2}}`, 3, "/a"},
		{"a number written otherwise", `{"a":1.0,"b":{"c":2}}`, 3, "/a"},
		{"null", `null`, 3, "payload"},
		{"another limit", `{"a":1,"b":{"c":2}}`, 4, "attempt limit of 3, not an attempt limit of 4"},
		{"no limit", `{"a":1,"b":{"c":2}}`, 0, "no attempt limit named"},
	} {
		e, err := f.Enqueue(t.Context(), queue.NewJob{
			Kind: "mail", Key: "k", Payload: jsontext.Value(c.payload), MaxAttempts: c.limit,
			Priority: 9, AvailableAt: start.Add(time.Hour),
		})
		switch {
		case c.says == "" && (err != nil || e.Created || e.Job.ID != job.ID || e.Job.Priority != 0 ||
			!e.Job.AvailableAt.Equal(start) || string(e.Job.Payload) != string(first.Payload)):
			t.Errorf("%s: %+v, %v, want the job as it stood", c.name, e, err)
		case c.says != "" && (!errors.Is(err, queue.ErrConflict) || !strings.Contains(err.Error(), c.says)):
			t.Errorf("%s: %v, want a conflict that says %q", c.name, err, c.says)
		}
	}
	f.settles(f.claimOne("mail", queue.Rule{}), queue.Outcome{Is: queue.RunDone, Result: jsontext.Value(`7`)})
	e, err := f.Enqueue(t.Context(), first)
	if err != nil || e.Created || e.Job.State != queue.StateDone || string(e.Job.Result) != "7" {
		t.Errorf("after it is done: %+v, %v", e, err)
	}
	if h, _ := f.History(t.Context(), job.ID, 0); len(h) != 3 {
		t.Errorf("replays left %d entries, want 3", len(h))
	}
}

func TestRememberedKeyIsTaken(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	job := f.add(newJob("mail", "k"))
	// What pruning a finished job leaves.
	db := raw(t, f.Path())
	mustExec(t, db, `INSERT INTO remembered SELECT kind_id, 'old', 77, digest, 0, 4, 1000 FROM jobs JOIN job_data ON job_id = id WHERE id = ?`, job.ID)
	e, err := f.Enqueue(t.Context(), newJob("mail", "old"))
	if err != nil || e.Created || !e.Pruned || e.Job.ID != 77 || e.Job.State != queue.StateDone {
		t.Errorf("the same again: %+v, %v", e, err)
	}
	other := newJob("mail", "old")
	other.Payload = jsontext.Value(`2`)
	if _, err := f.Enqueue(t.Context(), other); !errors.Is(err, queue.ErrConflict) {
		t.Errorf("another payload: %v", err)
	}
}

func TestEnqueueManyAnswersEach(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.add(newJob("a", "taken"))
	bad := newJob("a", "bad")
	bad.Payload = jsontext.Value(`{"a":1,"a":2}`)
	conflict := newJob("a", "taken")
	conflict.Payload = jsontext.Value(`3`)
	results, err := f.EnqueueMany(t.Context(), []queue.NewJob{
		newJob("a", "1"), bad, newJob("a", "1"), conflict, newJob("a", "2"), newJob("a", "taken"),
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		id      int64
		created bool
		err     error
	}{{2, true, nil}, {0, false, queue.ErrInvalid}, {2, false, nil}, {0, false, queue.ErrConflict}, {3, true, nil}, {1, false, nil}} {
		got := results[i]
		if got.Job.ID != want.id || got.Created != want.created || !errors.Is(got.Err, want.err) || (want.err == nil) != (got.Err == nil) {
			t.Errorf("%d: id %d created %t %v, want %+v", i, got.Job.ID, got.Created, got.Err, want)
		}
	}
	if _, err := f.EnqueueMany(t.Context(), make([]queue.NewJob, queue.MaxBatch+1)); !errors.Is(err, queue.ErrInvalid) {
		t.Errorf("too many: %v", err)
	}
	f.reopen()
	if jobs, err := f.List(t.Context(), queue.Filter{}); err != nil || len(jobs) != 3 {
		t.Errorf("%d jobs, %v", len(jobs), err)
	}
}

func TestOneKeyFromManyAtOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	other := f.open(f.Path())
	var wg sync.WaitGroup
	var mu sync.Mutex
	created, ids := 0, map[int64]bool{}
	for i := range 20 {
		q := f.Queue
		if i%2 == 1 {
			q = other
		}
		wg.Go(func() {
			e, err := q.Enqueue(f.Context(), newJob("a", "same"))
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			ids[e.Job.ID] = true
			if e.Created {
				created++
			}
		})
	}
	wg.Wait()
	if created != 1 || len(ids) != 1 {
		t.Errorf("%d created, ids %v", created, ids)
	}
}

func TestDueTimesKeepTheirOrder(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	zone := time.FixedZone("", 5*3600+45*60)
	for i, at := range []time.Time{
		start.Add(999 * time.Millisecond), start.Add(500 * time.Millisecond).In(zone),
		start.Add(time.Hour), start.Add(501 * time.Millisecond), {},
	} {
		n := newJob("a", fmt.Sprint(i))
		n.AvailableAt = at
		job := f.add(n)
		if !at.IsZero() && !job.AvailableAt.Equal(at) {
			t.Errorf("%v was stored as %v", at, job.AvailableAt)
		}
	}
	if got := keys(f.claims(want("a", 9, queue.Rule{}))); got != "4" {
		t.Errorf("claimed %s before anything else was due", got)
	}
	f.clock.Advance(2 * time.Second)
	if got := keys(f.claims(want("a", 9, queue.Rule{}))); got != "1 3 0" {
		t.Errorf("claimed %s, want 1 3 0", got)
	}
}

// keys are the keys of claimed jobs in their order.
func keys(list []queue.Claimed) string {
	var s []string
	for _, c := range list {
		s = append(s, c.Job.Key)
	}
	return strings.Join(s, " ")
}
