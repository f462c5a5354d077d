package proof

import (
	"fmt"
	"hash/maphash"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/b1213022/bailiff/queue"
)

// The sequential queue that a history is compared with: jobs of one kind, served
// one request after another. It knows the rules from the design, not from the code.
// What only the engine can know, ids and due times, it takes from the answers.

// step is one request with its answer, as the history has it. Times are readings of
// the machine's monotonic clock.
type step struct {
	Process, Worker int
	Act             string // enqueue, claim, renew, settle, cancel, requeue, close
	Call            time.Duration
	Return          time.Duration

	Kind     string
	Key      string
	Priority int
	Fence    int64         // of the token that renew and settle show
	Length   time.Duration // of the lease, for claim and renew
	Is       queue.RunEnd  // settle
	Reviewed bool          // requeue

	// The answer. Outcome is empty for an answer without error.
	Outcome   string // lost, conflict
	Sure      bool   // false: of an enqueue or settle that was asked again; one of them did it
	Found     bool   // claim: there was a job
	ID        int64
	Created   bool
	Replay    bool
	Cancelled bool          // renew: somebody asked to cancel
	State     queue.State   // as answered
	Attempt   int           // claim, settle
	Due       int64         // ms; of a job that waits
	Deadline  time.Duration // claim, renew: when the lease ends
}

// limit is the attempt limit of all jobs here.
const limit = 3

// job is one as the model has it. It is a value, compared with ==.
type job struct {
	id       int64 // 0: no such job
	state    queue.State
	priority int
	due      int64 // of a waiting job; 0: not known
	attempt  int
	fence    int64
	marked   bool
	review   bool // requeued only as reviewed
	deadline time.Duration
	margin   time.Duration
	settled  int64        // the fence whose token settled last and may ask again; 0: none
	said     queue.RunEnd // by that
}

// keys is how many jobs a kind has at most.
const keys = 8

// shelf are the jobs of one kind by their keys, "0" to "7".
type shelf struct {
	jobs    [keys]job
	highest int64 // id
}

func keyName(i int) string { return fmt.Sprint(i) }

func (s *shelf) job(key string) *job { return &s.jobs[key[0]-'0'] }

func (j *job) waits() bool {
	return j.id != 0 && (j.state == queue.StateReady || j.state == queue.StateScheduled)
}

// moved is what every transition but that of a settle does to the job.
func (j *job) moved(to queue.State) {
	j.state, j.settled, j.said = to, 0, ""
	if to == queue.StateQuarantined {
		j.review = true
	}
}

// next are the shelves that can stand after a step was served with its answer;
// none if it cannot have been served so.
func (s shelf) next(o step) (all []shelf) {
	// Leases that were over by the time of the answer may have been expired before.
	for _, before := range s.expiries(o.Return) {
		if o.Act == "settle" && o.Outcome == "lost" && !o.Sure {
			// It may have been served when it was first asked, and more have happened
			// before it was asked again.
			after, once := before, o
			once.Outcome, once.Due = "", 0
			if after.serve(once) {
				all = append(all, after)
			}
		}
		if before.serve(o) {
			all = append(all, before)
		}
	}
	return all
}

// expiries are the shelves with any of the leases expired that can be at a moment.
// All that are over are expired together, by whoever claims.
func (s shelf) expiries(at time.Duration) []shelf {
	after, some := s, false
	for i := range after.jobs {
		j := &after.jobs[i]
		if j.id == 0 || j.state != queue.StateLeased || j.deadline+j.margin > at {
			continue
		}
		some = true
		switch {
		case j.marked:
			j.review = true
			j.moved(queue.StateCancelled)
		case j.attempt >= limit:
			j.moved(queue.StateDead)
		default:
			j.moved(queue.StateReady)
			j.due = 0
		}
	}
	if !some {
		return []shelf{s}
	}
	return []shelf{s, after}
}

// serve serves one request if the answer fits.
func (s *shelf) serve(o step) bool {
	switch o.Act {
	case "enqueue":
		return s.enqueue(o)
	case "claim":
		return s.claim(o)
	}
	j := s.job(o.Key)
	if j.id == 0 {
		return o.Outcome == "not found"
	}
	switch o.Act {
	case "renew":
		return j.renew(o)
	case "settle":
		return j.settle(o)
	case "cancel":
		return j.cancel(o)
	case "requeue":
		return j.requeue(o)
	case "close":
		return j.close(o)
	}
	return false
}

func (s *shelf) enqueue(o step) bool {
	j := s.job(o.Key)
	if j.id != 0 {
		return !o.Created && o.ID == j.id || !o.Sure && o.ID == j.id
	}
	if !o.Created && o.Sure || o.ID <= s.highest {
		return false
	}
	s.highest = o.ID
	*j = job{id: o.ID, state: queue.StateReady, priority: o.Priority, due: o.Due}
	return true
}

// claim takes the highest priority, then the oldest due, then the lowest id.
func (s *shelf) claim(o step) bool {
	if !o.Found {
		for i := range s.jobs {
			if s.jobs[i].waits() {
				return false
			}
		}
		return true
	}
	j := s.job(o.Key)
	if !j.waits() || o.ID != j.id {
		return false
	}
	for i := range s.jobs {
		if other := &s.jobs[i]; i != int(o.Key[0]-'0') && other.waits() && other.before(j) {
			return false
		}
	}
	j.moved(queue.StateLeased)
	j.attempt++
	j.fence++
	j.deadline, j.margin = o.Deadline, queue.Margin(o.Length)
	return o.Attempt == j.attempt && o.Fence == j.fence
}

// before reports whether a waiting job surely comes before another.
func (j *job) before(other *job) bool {
	switch {
	case j.priority != other.priority:
		return j.priority > other.priority
	case j.due == 0 || other.due == 0:
		return false
	case j.due != other.due:
		return j.due < other.due
	}
	return j.id < other.id
}

// holds reports whether a token with the fence of o may have been live while o was
// served, and whether it may have been over.
func (j *job) holds(o step) (live, over bool) {
	if j.state != queue.StateLeased || j.fence != o.Fence {
		return false, true
	}
	return o.Call < j.deadline, o.Return >= j.deadline
}

func (j *job) renew(o step) bool {
	live, over := j.holds(o)
	if o.Outcome != "" {
		return o.Outcome == "lost" && over
	}
	if !live || o.Cancelled != j.marked {
		return false
	}
	if o.Deadline > j.deadline {
		j.deadline = o.Deadline
	}
	return o.Deadline == j.deadline
}

func (j *job) settle(o step) bool {
	again := j.settled == o.Fence && j.said == o.Is
	if again && o.Outcome == "" && (o.Replay || !o.Sure) {
		return true
	}
	live, over := j.holds(o)
	if o.Outcome != "" {
		return o.Outcome == "lost" && over && !again
	}
	if !live || o.Replay && o.Sure {
		return false
	}
	j.moved(j.after(o.Is))
	j.settled, j.said = o.Fence, o.Is
	j.due = o.Due
	return !o.Sure || o.State == j.state && o.Attempt == j.attempt
}

// after is where a run of that end leads.
func (j *job) after(is queue.RunEnd) queue.State {
	if is == queue.RunSnooze {
		j.attempt--
	}
	switch {
	case is == queue.RunDone:
		return queue.StateDone
	case j.marked:
		j.review = true
		return queue.StateCancelled
	case is == queue.RunSnooze:
		return queue.StateReady
	case is == queue.RunQuarantine:
		return queue.StateQuarantined
	case is == queue.RunRetry && j.attempt < limit:
		return queue.StateScheduled
	}
	return queue.StateDead
}

func (j *job) cancel(o step) bool {
	switch {
	case j.state == queue.StateDone || j.state == queue.StateCancelled:
		return o.Outcome == "conflict"
	case o.Outcome != "":
		return false
	case j.state == queue.StateLeased:
		j.marked = true
	default:
		j.moved(queue.StateCancelled)
	}
	return o.State == j.state
}

func (j *job) requeue(o step) bool {
	ended := j.state == queue.StateDead || j.state == queue.StateQuarantined || j.state == queue.StateCancelled
	if !ended || j.review && !o.Reviewed {
		return o.Outcome == "conflict"
	}
	j.moved(queue.StateReady)
	j.attempt, j.marked, j.review, j.due = 0, false, false, o.Due
	return o.Outcome == "" && o.State == j.state
}

func (j *job) close(o step) bool {
	if j.state != queue.StateDead && j.state != queue.StateQuarantined {
		return o.Outcome == "conflict"
	}
	j.moved(queue.StateCancelled)
	return o.Outcome == "" && o.State == j.state
}

var seed = maphash.MakeSeed()

// model is the queue as porcupine asks for it: each kind for itself.
func model() porcupine.Model {
	m := porcupine.NondeterministicModel{
		Init: func() []any { return []any{shelf{}} },
		Hash: func(state any) uint64 { return maphash.Comparable(seed, state.(shelf)) },
		Step: func(state, _, output any) (all []any) {
			for _, s := range state.(shelf).next(output.(step)) {
				all = append(all, s)
			}
			return all
		},
		Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
			kinds := map[string][]porcupine.Operation{}
			for _, o := range history {
				kind := o.Output.(step).Kind
				kinds[kind] = append(kinds[kind], o)
			}
			var all [][]porcupine.Operation
			for _, list := range kinds {
				all = append(all, list)
			}
			return all
		},
	}
	return m.ToModel()
}

// operations is a history as porcupine reads it.
func operations(history []step) []porcupine.Operation {
	var all []porcupine.Operation
	for _, o := range history {
		all = append(all, porcupine.Operation{
			ClientId: o.Process*workersEach + o.Worker, Call: int64(o.Call), Return: int64(o.Return), Output: o,
		})
	}
	return all
}
