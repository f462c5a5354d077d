package proof

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/clock"
	"github.com/b1213022/bailiff/queue/sqlite"
)

// Any one page of the file is damaged, so that SQLite can tell. Whatever is answered
// without an error is the truth all the same, and an error says whose fault it is.
func TestDamagedPage(t *testing.T) {
	t.Parallel()
	path := newDatabase(t)
	q, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p := newPlayer("p", 3, func(word) {})
	p.large = 1000 // within its page: of the pages behind a long text nobody can tell
	if err := play(t.Context(), q, []*player{p}, 200); err != nil {
		t.Fatal(err)
	}
	want := look(q)
	if err := errors.Join(append(want.errs, q.Close())...); err != nil || len(want.jobs) < 30 {
		t.Fatalf("%d jobs, %v", len(want.jobs), err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const page = 4096
	refused, told, unnoticed := 0, 0, 0
	place := newPlace(t, "q.db")
	for at := 0; at < len(whole); at += page {
		damaged := append([]byte(nil), whole...)
		from := at
		if at == 0 {
			from = 100 // behind the header of the file
		}
		for i := from; i < at+page; i++ {
			damaged[i] = 0xa5
		}
		place.lay(t, map[string][]byte{"q.db": damaged}, nil)
		q, err := sqlite.Open(t.Context(), place.path, sqlite.Options{})
		if err != nil {
			refused++
			if !errors.Is(err, queue.ErrNotOurs) {
				t.Errorf("page %d: %v", at/page+1, err)
			}
			continue
		}
		got := look(q)
		for _, err := range got.errs {
			if !errors.Is(err, queue.ErrNotOurs) && !errors.Is(err, queue.ErrNotFound) {
				t.Errorf("page %d: %v", at/page+1, err)
			}
		}
		for id, job := range got.jobs {
			if !reflect.DeepEqual(job, want.jobs[id]) {
				t.Errorf("page %d: job %d is told as %+v, not %+v", at/page+1, id, job, want.jobs[id])
			}
		}
		if len(got.errs) > 0 {
			told++
		} else {
			unnoticed++
		}
		if err := q.Close(); err != nil && !errors.Is(err, queue.ErrNotOurs) {
			t.Errorf("page %d: close: %v", at/page+1, err)
		}
	}
	t.Logf("%d pages: %d times it was not opened, %d times told of, %d times not met", len(whole)/page, refused, told, unnoticed)
	if refused == 0 || told == 0 {
		t.Error("no damage was met")
	}
}

// seen is all that a queue tells of its jobs.
type seen struct {
	jobs map[int64]jobAndHistory
	errs []error
}

type jobAndHistory struct {
	job     queue.Job
	history []queue.Entry
}

func look(q *sqlite.Queue) seen {
	s := seen{jobs: map[int64]jobAndHistory{}}
	ctx := context.Background()
	for id := int64(1); id < 100; id++ {
		j, err := q.Get(ctx, queue.Ref{ID: id})
		if errors.Is(err, queue.ErrNotFound) {
			continue
		}
		h, err2 := q.History(ctx, id, 0)
		if err := errors.Join(err, err2); err != nil {
			s.errs = append(s.errs, err)
			continue
		}
		j.LeaseExpiresAt = time.Time{} // told by the clock of the moment
		s.jobs[id] = jobAndHistory{j, h}
	}
	return s
}

// The wall clock jumps by years, in both directions. No lease ends, nothing waits
// longer than it was told, and work goes on.
func TestWallClockJumps(t *testing.T) {
	t.Parallel()
	const years = 10 * 365 * 24 * time.Hour
	for _, jump := range []time.Duration{years, -years, time.Hour, -time.Hour} {
		path := newDatabase(t)
		c := clock.NewFake(noon)
		q, err := sqlite.Open(t.Context(), path, sqlite.Options{Clock: c})
		if err != nil {
			t.Fatal(err)
		}
		mustAdd := func(key string) {
			if _, err := q.Enqueue(t.Context(), queue.NewJob{Kind: "a", Key: key, Payload: []byte(`1`)}); err != nil {
				t.Fatal(err)
			}
		}
		mustClaim := func(key string) queue.Claimed {
			got, err := q.Claim(t.Context(), queue.ClaimRequest{Worker: "w", Lease: 10 * time.Second, Wants: []queue.Want{{Kind: "a", Max: 1, Rule: queue.Rule{Uncertain: queue.UncertainRetry}}}})
			if err != nil || len(got) != 1 || got[0].Job.Key != key {
				t.Fatalf("jump of %v: claimed %+v, %v; want %s", jump, got, err, key)
			}
			return got[0]
		}
		settle := func(j queue.Claimed, o queue.Outcome) {
			if _, err := q.Settle(t.Context(), queue.Settlement{ID: j.Job.ID, Token: j.Lease.Token, Outcome: o}); err != nil {
				t.Errorf("jump of %v: %v", jump, err)
			}
		}
		mustAdd("first")
		mustAdd("second")
		first, second := mustClaim("first"), mustClaim("second")
		delay := 5 * time.Second
		settle(second, queue.Outcome{Is: queue.RunRetry, Reason: "busy", After: &delay})
		c.StepWall(jump)
		if e, err := q.Expire(t.Context()); err != nil || len(e) != 0 {
			t.Errorf("jump of %v: expired %v, %v", jump, e, err)
		}
		if r, err := q.Renew(t.Context(), []queue.Renewal{{ID: first.Job.ID, Token: first.Lease.Token, Length: 10 * time.Second}}); err != nil || r[0].Err != nil {
			t.Errorf("jump of %v: renew: %v, %v", jump, r, err)
		}
		c.Advance(delay)
		settle(mustClaim("second"), queue.Outcome{Is: queue.RunDone})
		settle(first, queue.Outcome{Is: queue.RunDone})
		mustAdd("third")
		c.StepWall(-jump)
		settle(mustClaim("third"), queue.Outcome{Is: queue.RunDone})
		if err := q.Close(); err != nil {
			t.Error(err)
		}
		if err := sound(path); err != nil {
			t.Errorf("jump of %v: %v", jump, err)
		}
	}
}

func init() {
	// It claims a job for long and one for a second, and prints when the leases end by
	// its clock, and what it expired.
	parts["other-time"] = func(ctx context.Context, args []string) error {
		q, err := sqlite.Open(ctx, args[0], sqlite.Options{})
		if err != nil {
			return err
		}
		expired, err := q.Expire(ctx)
		if err != nil {
			return err
		}
		var ends []string
		for _, lease := range []time.Duration{time.Hour, time.Second} {
			c, err := q.Claim(ctx, queue.ClaimRequest{Worker: "inside", Lease: lease, Wants: []queue.Want{{Kind: "a", Max: 1, Rule: queue.Rule{Uncertain: queue.UncertainRetry}}}})
			if err != nil || len(c) != 1 {
				return fmt.Errorf("claimed %d jobs, %w", len(c), err)
			}
			ends = append(ends, fmt.Sprint(int64(c[0].Lease.Deadline)))
		}
		fmt.Println(len(expired), strings.Join(ends, " "))
		return q.Close()
	}
}

// Processes in different time namespaces, whose monotonic clocks differ, agree on
// when a lease ends.
func TestTimeNamespaces(t *testing.T) {
	t.Parallel()
	for _, offset := range []string{"172800", "-100"} {
		if out, err := exec.Command("unshare", "-T", "--monotonic", offset, "true").CombinedOutput(); err != nil {
			t.Skipf("no time namespace can be made here: %v %s", err, out)
		}
		path := newDatabase(t)
		q, err := sqlite.Open(t.Context(), path, sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"1", "2", "3"} {
			if _, err := q.Enqueue(t.Context(), queue.NewJob{Kind: "a", Key: key, Payload: []byte(`1`)}); err != nil {
				t.Fatal(err)
			}
		}
		want := queue.ClaimRequest{Worker: "outside", Lease: time.Hour, Wants: []queue.Want{{Kind: "a", Max: 1}}}
		if c, err := q.Claim(t.Context(), want); err != nil || len(c) != 1 {
			t.Fatalf("claimed %v, %v", c, err)
		}
		before := clock.System().Mono()
		cmd := child(t, "other-time", path)
		inside := exec.Command("unshare", append([]string{"-T", "--monotonic", offset, "--fork", cmd.Path}, cmd.Args[1:]...)...)
		inside.Env, inside.Stderr = cmd.Env, os.Stderr
		out, err := inside.Output()
		if err != nil {
			t.Fatal(err)
		}
		after := clock.System().Mono()
		words := strings.Fields(string(out))
		long, _ := strconv.ParseInt(words[1], 10, 64)
		short, _ := strconv.ParseInt(words[2], 10, 64)
		if words[0] != "0" {
			t.Errorf("offset %s: %s leases of the outside were expired inside", offset, words[0])
		}
		for length, end := range map[time.Duration]time.Duration{time.Hour: time.Duration(long), time.Second: time.Duration(short)} {
			if end < before+length || end > after+length {
				t.Errorf("offset %s: a lease of %v ends at %v; the clock went from %v to %v", offset, length, end, before, after)
			}
		}
		// The short one is over for all at the same time.
		for {
			now := clock.System().Mono()
			expired, err := q.Expire(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if len(expired) == 0 && now < time.Duration(short)+time.Minute {
				<-time.After(5 * time.Millisecond)
				continue
			}
			if len(expired) != 1 || expired[0].Key != "3" || clock.System().Mono() < time.Duration(short)+queue.Margin(time.Second) {
				t.Errorf("offset %s: expired %+v at %v", offset, expired, now)
			}
			break
		}
		if err := q.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A folder that is not there is named, and nothing is made.
func TestMissingFolder(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "missing")
	path := filepath.Join(folder, "q.db")
	if _, err := sqlite.Open(t.Context(), path, sqlite.Options{}); !errors.Is(err, queue.ErrNotFound) || !strings.Contains(err.Error(), path) {
		t.Errorf("open: %v", err)
	}
	if err := sqlite.Create(t.Context(), path, sqlite.Options{}); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), path) {
		t.Errorf("create: %v", err)
	}
	if _, err := os.Stat(folder); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder was made: %v", err)
	}
}
