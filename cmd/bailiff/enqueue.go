package main

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/b1213022/bailiff/internal/shellword"
	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/sqlite"
)

// enqueueFlags are the flags of enqueue as they were given.
type enqueueFlags struct {
	newKey      bool
	from        string
	each        string
	maxAttempts int
	at, in      string
	priority    int
	meta        string
	wait        waitFlag
}

func newEnqueueCmd(a *app) *cobra.Command {
	var f enqueueFlags
	cmd := &cobra.Command{
		Use:   "enqueue KIND KEY [PAYLOAD]",
		Short: "put a job in, once per key",
		Long: `Accepts a job: it is on disk when this command ends with 0. KEY makes it safe to
say again: the same kind, key and payload answer with the job that is there; the
same key with another payload is refused (exit 3). No key at hand: --new-key.

PAYLOAD is a JSON text, @FILE, - (stdin), or any number of name=text and
name:=json, which make an object; none is {}.

--from FILE reads many jobs, one JSON object per line with kind, key, payload,
max_attempts, available_at, priority and meta; the first two are needed. A line
that is refused is named and stops no other. The same file again adds nothing.

--each FIELD makes a job of each plain line of stdin (or of --from FILE): payload
{"FIELD":"line"} with the name=value words added, key the line behind KEY, which
is a prefix here and may be left out. Blank lines are skipped.

--wait shows how the job ended: exit 0 for done, 1 for any other end, 7 if the
time of --wait=TIME ran out or a signal came first (the job goes on).`,
		Example: `  bailiff enqueue mail welcome-42 to=ann@example.org retries:=3 --in 5m --wait=1h
  ls *.wav | bailiff enqueue transcode --each file format=opus`,
		Args:              func(cmd *cobra.Command, args []string) error { return f.checkWords(cmd, args, a.words) },
		ValidArgsFunction: a.completeKind,
		RunE: func(cmd *cobra.Command, args []string) error {
			limited := cmd.Flags().Changed("max-attempts")
			switch {
			case f.each != "":
				return a.enqueueEach(cmd.Context(), args, f, limited)
			case f.from != "":
				return a.enqueueLines(cmd.Context(), f.from, jobLines)
			}
			job, err := a.newJob(args, f, limited)
			if err != nil {
				return err
			}
			return a.withQueue(cmd.Context(), func(q *sqlite.Queue) error {
				return a.enqueue(cmd.Context(), q, job, f)
			})
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.newKey, "new-key", false, "make up a key; KEY is left out")
	flags.StringVar(&f.from, "from", "", "read jobs from `FILE`, or - (stdin), one JSON object per line")
	flags.StringVar(&f.each, "each", "", "a job for each plain line, which is the `FIELD` of its payload")
	flags.IntVar(&f.maxAttempts, "max-attempts", 0, "try it at most `N` times (default: the handler's limit)")
	flags.StringVar(&f.at, "at", "", "not before `TIME`, with its offset: 2026-11-30T14:00:00+01:00")
	flags.StringVar(&f.in, "in", "", "not before `DURATION` from now")
	flags.IntVar(&f.priority, "priority", 0, "`N` from -100 to 100, higher first")
	flags.StringVar(&f.meta, "meta", "", "a `JSON` object that is passed along, or @FILE")
	flags.Var(&f.wait, "wait", "wait until it ended, at most TIME if one is given")
	flags.Lookup("wait").NoOptDefVal = waitForever
	return cmd
}

// checkWords checks the arguments against the flags they depend on, and both
// against the whole line as it was typed.
func (f *enqueueFlags) checkWords(cmd *cobra.Command, args, typed []string) error {
	call := strings.TrimSpace(cmd.UseLine())
	switch {
	case cmd.Flags().Changed("each"):
		return f.checkEach(cmd, args)
	case f.from != "":
		if len(args) > 0 {
			return advise(usage("--from takes no other arguments"), "bailiff enqueue --from FILE")
		}
		for _, flag := range []string{"new-key", "max-attempts", "at", "in", "priority", "meta", "wait"} {
			if cmd.Flags().Changed(flag) {
				return usage("--%s does not go with --from: what a job wants stands in its line", flag)
			}
		}
	case looseTime(typed) != "":
		return advise(usage("--wait takes its time behind a =, not behind a space"), "write --wait=%s; a key or payload goes before --wait", looseTime(typed))
	case len(args) == 0:
		return advise(usage("which kind?"), "%s", call)
	case f.newKey && len(args) > 1 && looksLikeKey(args[1]):
		return usage("--new-key makes up the key: leave '%s' out", brief(args[1], 60))
	case !f.newKey && len(args) > 1 && queue.LooksLikePayload(args[1]):
		return advise(usage("'%s' looks like a payload, not a key", brief(args[1], 60)), "%s; no key at hand? --new-key", call)
	case !f.newKey && len(args) < 2:
		return advise(usage("which key?"), "%s; no key at hand? --new-key", call)
	}
	return nil
}

// looksLikeKey reports whether a word behind --new-key was meant to be a key: it is
// no form of a payload.
func looksLikeKey(word string) bool {
	form := queue.LooksLikePayload(word) || pair.MatchString(word) || word == "-" || strings.HasPrefix(word, "@")
	return !form && !jsontext.Value(word).IsValid()
}

// newJob reads the arguments and flags of one job.
func (a *app) newJob(args []string, f enqueueFlags, limited bool) (queue.NewJob, error) {
	job := queue.NewJob{Kind: args[0]}
	rest := args[1:]
	if f.newKey {
		job.Key = rand.Text()
	} else {
		job.Key, rest = rest[0], rest[1:]
	}
	var err error
	if job.Payload, err = a.payload(rest); err != nil {
		return job, err
	}
	return job, a.options(&job, f, limited)
}

// options adds to a job what the flags say of it.
func (a *app) options(job *queue.NewJob, f enqueueFlags, limited bool) (err error) {
	job.Priority = f.priority
	if f.at != "" && f.in != "" {
		return usage("--at and --in both say when: leave one out")
	}
	if f.meta != "" {
		if job.Meta, err = a.readJSON("--meta", f.meta); err != nil {
			return err
		}
	}
	if limited {
		if f.maxAttempts < 1 {
			return usage("--max-attempts %d is out of range: 1 to %d", f.maxAttempts, queue.MaxAttemptsLimit)
		}
		job.MaxAttempts = f.maxAttempts
	}
	switch {
	case f.at != "":
		job.AvailableAt, err = parseInstant("--at", f.at)
	case f.in != "":
		var in time.Duration
		in, err = parseSpan("--in", f.in)
		job.AvailableAt = now().Add(in)
	}
	return err
}

// sameAgain is what to do when nobody knows whether a job was put in.
const sameAgain = "run the same command again, with the same key: the answer will be the truth"

// enqueue puts one job in and says what became of it.
func (a *app) enqueue(ctx context.Context, q *sqlite.Queue, job queue.NewJob, f enqueueFlags) error {
	began := now()
	got, err := q.Enqueue(ctx, job)
	if err == nil {
		s, _ := a.service()
		a.noteOtherDatabase(s, q, "goes to")
	}
	switch {
	case errors.Is(err, queue.ErrConflict):
		return advise(err, "nothing changed; %s shows what is there; another job needs another key", a.command("get %s", shellword.Quote(job.Kind+"/"+job.Key)))
	case errors.Is(err, queue.ErrUnknown):
		return advise(err, sameAgain)
	case err != nil:
		return err
	}
	madeKey := ""
	if f.newKey {
		madeKey = job.Key
	}
	if !a.json {
		a.tellEnqueued(ctx, q, got, f.wait.on)
	} else if beside := a.besideEnqueued(ctx, q, got); beside != "" {
		a.note("%s", beside)
	}
	switch {
	case f.wait.on:
		return a.waitFor(ctx, q, got, madeKey, began, f.wait.limit)
	case a.json:
		return a.printJSON(newEnqueuedJSON(got, madeKey))
	}
	return nil
}

// tellEnqueued says for people what an enqueue did.
func (a *app) tellEnqueued(ctx context.Context, q *sqlite.Queue, got queue.Enqueued, wait bool) {
	j := &got.Job
	beside := a.besideEnqueued(ctx, q, got)
	switch {
	case !got.Created:
		a.say("%s already exists: %s. Nothing enqueued.%s", name(j), a.pastStanding(got), a.again(got))
		if beside != "" && !wait { // else its end is told, and that tells it
			a.say("  %s", beside)
		}
	case beside != "":
		a.say("%s", beside)
	case pausedKinds(ctx, q)[j.Kind]:
		a.say("%s accepted: %s, but its kind is paused: it waits. %s", name(j), a.standing(j), a.command("resume %s", j.Kind))
	default:
		a.say("%s accepted: %s", name(j), a.standing(j))
	}
}

// besideEnqueued is what a person has to know of an enqueued job beside its
// state: that no handler will take it, or, of one that was there, what to do.
func (a *app) besideEnqueued(ctx context.Context, q *sqlite.Queue, got queue.Enqueued) string {
	if got.Created {
		return a.unhandled(ctx, q, &got.Job)
	}
	return a.next(got)
}

// next says what a person can do about the job that an enqueue answered with. With
// one that was pruned nothing can be done any more.
func (a *app) next(got queue.Enqueued) string {
	if got.Pruned {
		return ""
	}
	return a.nextCommands(&got.Job)
}

// pastStanding is the state of a job that was there before.
func (a *app) pastStanding(got queue.Enqueued) string {
	if got.Pruned {
		return a.standing(&got.Job) + ", pruned since"
	}
	return a.standing(&got.Job)
}

// again says how to do a finished job once more, as far as it can be.
func (a *app) again(got queue.Enqueued) string {
	switch j := &got.Job; {
	case got.Pruned:
		return " Its payload is gone: to do it again, enqueue it under another key"
	case j.State == queue.StateDone:
		return " To do it again: " + a.command("rerun %d NEWKEY", j.ID)
	case j.State == queue.StateCancelled:
		return " To do it after all: " + a.requeueCommand(j)
	}
	return ""
}

// enqueuedJSON answers enqueue --json. The key is there where it was made up.
type enqueuedJSON struct {
	ID      int64       `json:"id"`
	Created bool        `json:"created"`
	State   queue.State `json:"state"`
	Key     string      `json:"key,omitzero"`
	Pruned  bool        `json:"pruned,omitzero"` // of the job that was there only this is left
}

// newEnqueuedJSON is the answer, with the key that was made up for the job, if any.
func newEnqueuedJSON(got queue.Enqueued, madeKey string) enqueuedJSON {
	return enqueuedJSON{ID: got.Job.ID, Created: got.Created, State: got.Job.State, Key: madeKey, Pruned: got.Pruned}
}
