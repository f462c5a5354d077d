package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/b1213022/bailiff/childproto"
	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/sqlite"
)

// What the service costs and how quick it is, measured from outside on the
// built program: make bench. The figures are the machine's as much as bailiff's.

// probe is a lines handler: it burns CPU, or waits, for as long as the payload
// says, and answers when it got the job.
func probe() {
	childproto.Main(func(ctx context.Context, job *childproto.Task) (any, error) {
		at := time.Now()
		var todo struct{ SpinMS, WaitMS int64 }
		if err := job.Decode(&todo); err != nil {
			return nil, err
		}
		for end := at.Add(time.Duration(todo.SpinMS) * time.Millisecond); time.Now().Before(end) && ctx.Err() == nil; {
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(time.Duration(todo.WaitMS) * time.Millisecond):
			return map[string]int64{"at": at.UnixNano()}, nil
		}
	})
}

// place is a folder with a running service and the queue it works on, opened
// beside it as another process would.
type place struct {
	tb      testing.TB
	queue   *sqlite.Queue
	service *exec.Cmd
	log     *bytes.Buffer
}

// newPlace starts a service whose one handler is probe, in a lines pool of that
// many slots, all of them warm.
func newPlace(tb testing.TB, slots int, lease time.Duration) *place {
	tb.Helper()
	dir := tb.TempDir()
	text := fmt.Sprintf(`
lease {
  duration = %q
}
shutdown {
  drain = "0s"
}
handler "probe" {
  command     = ["probe"]
  protocol    = "lines"
  concurrency = %d
  warm        = %d
  grace       = "1s"
}
`, lease, slots, slots)
	path := filepath.Join(dir, "config.hcl")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		tb.Fatal(err)
	}
	p := &place{tb: tb, log: &bytes.Buffer{}}
	p.service = exec.Command("bailiff", "--config", path, "run", "--init")
	p.service.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0")
	p.service.Stderr = p.log
	if err := p.service.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = p.service.Process.Signal(syscall.SIGTERM)
		_ = p.service.Wait()
		if tb.Failed() {
			tb.Logf("the service's log:\n%s", p.log)
		}
	})
	p.until(func() bool {
		var err error
		p.queue, err = sqlite.Open(tb.Context(), filepath.Join(dir, "bailiff.db"), sqlite.Options{})
		return err == nil
	})
	tb.Cleanup(func() { _ = p.queue.Close() })
	first := p.enqueue("first", `{}`) // once it is done, a child is warm
	p.until(func() bool { return p.get(first).State == queue.StateDone })
	return p
}

func (p *place) until(there func() bool) {
	p.tb.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !there() {
		select {
		case <-tick.C:
		case <-p.tb.Context().Done():
			p.tb.Fatalf("it did not happen; the service's log:\n%s", p.log)
		}
	}
}

func (p *place) enqueue(key, payload string) int64 {
	p.tb.Helper()
	e, err := p.queue.Enqueue(p.tb.Context(), queue.NewJob{Kind: "probe", Key: key, Payload: jsontext.Value(payload)})
	if err != nil {
		p.tb.Fatal(err)
	}
	return e.Job.ID
}

func (p *place) get(id int64) queue.Job {
	p.tb.Helper()
	job, err := p.queue.Get(p.tb.Context(), queue.Ref{ID: id})
	if err != nil {
		p.tb.Fatal(err)
	}
	return job
}

// proc reads a figure of the supervisor from /proc/PID/FILE.
func (p *place) proc(file string) string {
	p.tb.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", p.service.Process.Pid, file))
	if err != nil {
		p.tb.Skipf("no /proc to read: %v", err)
	}
	return string(text)
}

// Children that take all the CPU there is delay no renewal.
func TestSpinningChildrenLoseNoLease(t *testing.T) {
	t.Parallel()
	p := newPlace(t, 4, 2*time.Second)
	var ids []int64
	for i := range 4 {
		ids = append(ids, p.enqueue(fmt.Sprint("spin-", i), `{"SpinMS":5000}`))
	}
	for _, id := range ids {
		var job queue.Job
		p.until(func() bool { job = p.get(id); return job.State.Finished() || job.State == queue.StateQuarantined })
		if job.State != queue.StateDone || job.Fence != 1 {
			t.Errorf("job %d ended as %s in run %d: %s", id, job.State, job.Fence, job.LastError)
		}
	}
}

// BenchmarkWake: the time from another process's enqueue call until a warm
// child has the job, 200 of them, at most 50 a second.
func BenchmarkWake(b *testing.B) {
	p := newPlace(b, 1, 30*time.Second)
	const jobs = 200
	for b.Loop() {
		asked := make(map[int64]time.Time, jobs)
		round := fmt.Sprint(b.N, "-", time.Now().UnixNano(), "-")
		next := time.NewTicker(20 * time.Millisecond)
		for i := range jobs {
			at := time.Now()
			asked[p.enqueue(round+strconv.Itoa(i), `{}`)] = at
			<-next.C
		}
		next.Stop()
		var took []time.Duration
		for id, at := range asked {
			var job queue.Job
			p.until(func() bool { job = p.get(id); return job.State == queue.StateDone })
			var answer struct {
				At int64 `json:"at"`
			}
			if err := json.Unmarshal(job.Result, &answer); err != nil {
				b.Fatal(err)
			}
			took = append(took, time.Unix(0, answer.At).Sub(at))
		}
		slices.Sort(took)
		b.ReportMetric(took[jobs/2].Seconds()*1e3, "ms-p50")
		b.ReportMetric(took[jobs*99/100].Seconds()*1e3, "ms-p99")
	}
	b.ReportMetric(0, "ns/op")
}

// BenchmarkIdle: CPU time of a service with a warm child and nothing to do,
// over a minute.
func BenchmarkIdle(b *testing.B) {
	p := newPlace(b, 1, 30*time.Second)
	for b.Loop() {
		before := p.cpu()
		<-time.After(time.Minute)
		b.ReportMetric(float64((p.cpu() - before).Milliseconds()), "cpu-ms/min")
	}
	b.ReportMetric(0, "ns/op")
}

// cpu is what /proc/PID/stat says of user and system time (proc(5), fields 14
// and 15, in hundredths of a second).
func (p *place) cpu() time.Duration {
	_, rest, _ := strings.Cut(p.proc("stat"), ") ")
	fields := strings.Fields(rest)
	var ticks time.Duration
	for _, f := range fields[11:13] {
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			p.tb.Fatal(err)
		}
		ticks += time.Duration(n)
	}
	return ticks * 10 * time.Millisecond
}

// BenchmarkMemory: resident memory of the supervisor with 64 children at work
// and 100 000 jobs that wait for them.
func BenchmarkMemory(b *testing.B) {
	for b.Loop() {
		p := newPlace(b, 64, 30*time.Second)
		const waiting = 100_000
		for from := 0; from < waiting+64; from += 1000 {
			some := make([]queue.NewJob, min(1000, waiting+64-from))
			for i := range some {
				some[i] = queue.NewJob{Kind: "probe", Key: fmt.Sprint("wait-", from+i), Payload: jsontext.Value(`{"WaitMS":3600000}`)}
			}
			answers, err := p.queue.EnqueueMany(b.Context(), some)
			if err != nil {
				b.Fatal(err)
			}
			for _, a := range answers {
				if a.Err != nil {
					b.Fatal(a.Err)
				}
			}
		}
		p.until(func() bool {
			m, err := p.queue.Metrics(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			return m.Leased == 64 && m.Ready == waiting
		})
		for line := range strings.Lines(p.proc("status")) {
			if kib, ok := strings.CutPrefix(line, "VmRSS:"); ok {
				n, err := strconv.ParseFloat(strings.Fields(kib)[0], 64)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(n/1024, "MiB-resident")
			}
		}
	}
	b.ReportMetric(0, "ns/op")
}

// BenchmarkShortLease: leases lost in a minute by four children that spin, at
// 2 s and at the shortest lease there is.
func BenchmarkShortLease(b *testing.B) {
	for _, lease := range []time.Duration{2 * time.Second, queue.MinLease} {
		b.Run(lease.String(), func(b *testing.B) {
			for b.Loop() {
				p := newPlace(b, 4, lease)
				var ids []int64
				for i := range 4 {
					ids = append(ids, p.enqueue(fmt.Sprint("spin-", i), `{"SpinMS":60000}`))
				}
				lost := 0.0
				for _, id := range ids {
					var job queue.Job
					p.until(func() bool { job = p.get(id); return job.State != queue.StateReady && job.State != queue.StateLeased })
					if job.State != queue.StateDone {
						lost++
					}
				}
				b.ReportMetric(lost, "leases-lost")
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}
