package sqlite_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/b1213022/bailiff/queue"
)

// BenchmarkEnqueue is one caller: each job is its own commit.
func BenchmarkEnqueue(b *testing.B) {
	f := newFixture(b)
	n := 0
	for b.Loop() {
		n++
		f.add(newJob("a", fmt.Sprint(n)))
	}
}

// BenchmarkEnqueueTogether is 64 callers, whose jobs share commits.
func BenchmarkEnqueueTogether(b *testing.B) {
	f := newFixture(b)
	var n atomic.Int64
	b.SetParallelism(32) // times GOMAXPROCS
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			f.add(newJob("a", fmt.Sprint(n.Add(1))))
		}
	})
}

// BenchmarkEnqueueMany is per job, 1000 to a call.
func BenchmarkEnqueueMany(b *testing.B) {
	f := newFixture(b)
	n := 0
	jobs := make([]queue.NewJob, 0, queue.MaxBatch)
	for b.Loop() {
		n++
		if jobs = append(jobs, newJob("a", fmt.Sprint(n))); len(jobs) == cap(jobs) {
			if _, err := f.EnqueueMany(b.Context(), jobs); err != nil {
				b.Fatal(err)
			}
			jobs = jobs[:0]
		}
	}
}

// BenchmarkClaimSettle is one worker: two commits for each job. What else is in
// the file must not matter.
func BenchmarkClaimSettle(b *testing.B) {
	for _, others := range []int{0, 100_000} {
		b.Run(fmt.Sprintf("beside=%d", others), func(b *testing.B) {
			f := newFixture(b)
			var jobs []queue.NewJob
			fill := func(kind string, n int) {
				for i := range n {
					if jobs = append(jobs, newJob(kind, fmt.Sprint(i))); len(jobs) == queue.MaxBatch || i == n-1 {
						if _, err := f.EnqueueMany(b.Context(), jobs); err != nil {
							b.Fatal(err)
						}
						jobs = jobs[:0]
					}
				}
			}
			fill("other", others)
			fill("a", b.N)
			b.ResetTimer()
			for range b.N {
				f.settles(f.claimOne("a", queue.Rule{}), queue.Outcome{Is: queue.RunDone})
			}
		})
	}
}

// BenchmarkClaimSettleTogether is 32 workers, whose claims and settles share commits.
func BenchmarkClaimSettleTogether(b *testing.B) {
	f := newFixture(b)
	var jobs []queue.NewJob
	for i := range b.N {
		if jobs = append(jobs, newJob("a", fmt.Sprint(i))); len(jobs) == queue.MaxBatch || i == b.N-1 {
			if _, err := f.EnqueueMany(b.Context(), jobs); err != nil {
				b.Fatal(err)
			}
			jobs = jobs[:0]
		}
	}
	b.SetParallelism(16) // times GOMAXPROCS
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			f.settles(f.claimOne("a", queue.Rule{}), queue.Outcome{Is: queue.RunDone})
		}
	})
}

// BenchmarkFallenDue is what a look and a claim cost when 100 000 jobs fell due
// that nobody has promoted yet. The file is made anew for each.
func BenchmarkFallenDue(b *testing.B) {
	for name, act := range map[string]func(*fixture) error{
		"agenda": func(f *fixture) error {
			_, err := f.Agenda(b.Context(), []string{"a"})
			return err
		},
		"metrics": func(f *fixture) error {
			_, err := f.Metrics(b.Context())
			return err
		},
		"claim": func(f *fixture) error {
			_, err := f.Claim(b.Context(), want("a", 1, queue.Rule{}))
			return err
		},
	} {
		b.Run(name, func(b *testing.B) {
			f := newFixture(b)
			f.fellDue("a", 100_000)
			for b.Loop() {
				if err := act(f); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
