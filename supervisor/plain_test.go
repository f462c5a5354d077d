package supervisor_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/supervisor"
	"github.com/b1213022/bailiff/supervisor/config"
)

// TestPlainOutcomes drives one job through a shell script for every way a run
// can go.
func TestPlainOutcomes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, body string
		state      queue.State
		result     string
		reason     []string
	}{
		{"json", `cat`, queue.StateDone, `{}`, nil},
		{"no json", `echo hello`, queue.StateDone, "", nil},
		{"nothing", `exit 0`, queue.StateDone, "", nil},
		{"payload unread", `echo '"x"'`, queue.StateDone, `"x"`, nil},
		{"1", `echo boom >&2; exit 1`, queue.StateScheduled, "", []string{"exit status 1", "last stderr line: boom"}},
		{"1, told on stdout", `echo first; echo boom; echo; exit 1`, queue.StateScheduled, "", []string{"exit status 1; last output line: boom"}},
		{"1, told on both", `echo fine; echo boom >&2; exit 1`, queue.StateScheduled, "", []string{"exit status 1; last stderr line: boom"}},
		{"65", `exit 65`, queue.StateDead, "", []string{"exit status 65"}},
		{"75", `exit 75`, queue.StateScheduled, "", []string{"exit status 75"}},
		{"76", `exit 76`, queue.StateQuarantined, "", []string{"exit status 76"}},
		{"137", `exit 137`, queue.StateQuarantined, "", []string{"exit status 137"}},
		{"kills itself", `kill -9 $$`, queue.StateQuarantined, "", []string{"killed by SIGKILL"}},
		{"outcome file", `echo '{"type":"dead","reason":"no such address"}' >"$BAILIFF_OUTCOME"; kill -9 $$`, queue.StateDead, "", []string{"no such address"}},
		{"outcome file, done", `echo '"r"'; echo '{"type":"done"}' >"$BAILIFF_OUTCOME"; exit 1`, queue.StateDone, `"r"`, nil},
		{"broken outcome file", `echo '{"type":' >"$BAILIFF_OUTCOME"`, queue.StateQuarantined, "", []string{"BAILIFF_OUTCOME holds no outcome"}},
		{"pipe as outcome file", `mkfifo "$BAILIFF_OUTCOME"`, queue.StateQuarantined, "", []string{"no regular file"}},
		{"link as outcome file", `echo '{"type":"done"}' >"$BAILIFF_OUTCOME.x"; ln -s "$BAILIFF_OUTCOME.x" "$BAILIFF_OUTCOME"; exit 65`, queue.StateQuarantined, "", []string{"no regular file"}},
		{"device as outcome file", `ln -s /dev/zero "$BAILIFF_OUTCOME"`, queue.StateQuarantined, "", []string{"no regular file"}},
		{"endless outcome file", `head -c 3000000 /dev/zero >"$BAILIFF_OUTCOME"`, queue.StateQuarantined, "", []string{"longer than 2097152 bytes"}},
		{"grandchild holds the pipes", `sleep 600 & exit 0`, queue.StateDone, "", nil},
		{"both sides full", `head -c 2000000 /dev/zero >&2; cat >/dev/null`, queue.StateDone, "", nil},
		{"big result", `printf '"'; head -c 1100000 /dev/zero | tr '\0' r; printf '"'`, queue.StateDone, "", nil},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.script("k", c.body)
			b.enqueue("k", "1")
			mustNil(t, b.runUntilIdle())
			job := b.job("k", "1")
			b.expect(job, c.state, c.reason...)
			if string(job.Result) != c.result {
				t.Errorf("result %s, want %s", job.Result, c.result)
			}
			if left, _ := filepath.Glob(filepath.Join(b.config.StateDir, "runs", "*")); len(left) > 0 {
				t.Errorf("private folders left behind: %v", left)
			}
		})
	}
}

// TestPlainEnvironment: what a handler is told, and that it is told nothing
// else of the service's own environment.
func TestPlainEnvironment(t *testing.T) {
	t.Setenv("BAILIFF_TEST_SECRET", "hunter2")
	t.Setenv("BAILIFF_TEST_REGION", "eu")
	b := newBench(t)
	h := b.script("k", `env >"$BAILIFF_TEST_DIR/env"`)
	h.InheritEnv = []string{"BAILIFF_TEST_REGION"}
	h.Env = map[string]string{"MODEL": "small", "BAILIFF_TEST_DIR": b.dir}
	b.enqueueWith(queue.NewJob{Kind: "k", Key: "a key", Payload: jsontext.Value(`{}`), Meta: jsontext.Value(`{"m":1}`)})
	mustNil(t, b.runUntilIdle())
	text, err := os.ReadFile(filepath.Join(b.dir, "env"))
	mustNil(t, err)
	env := "\n" + string(text)
	for _, want := range []string{
		"MODEL=small", "BAILIFF_TEST_REGION=eu", "PYTHONUNBUFFERED=1", "BAILIFF_PROTOCOL=plain", "BAILIFF_JOB_ID=1",
		"BAILIFF_KEY=a key", "BAILIFF_ATTEMPT=1", "BAILIFF_MAX_ATTEMPTS=20", "BAILIFF_FENCE=1", `BAILIFF_META={"m":1}`,
		"BAILIFF_DB=" + b.config.Database, "BAILIFF_BIN=/opt/bailiff/bin/bailiff", "PATH=/opt/bailiff/bin:" + os.Getenv("PATH"),
	} {
		if !strings.Contains(env, "\n"+want+"\n") {
			t.Errorf("the environment lacks %q", want)
		}
	}
	if strings.Contains(env, "hunter2") {
		t.Error("the handler sees a variable that nobody passed on")
	}
}

// TestPlainTimeout: the trap runs, the grace is kept, the whole tree ends, and
// the exit status after being told proves nothing.
func TestPlainTimeout(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, body, reason string }{
		{"trap", `trap 'echo trapped >"$DIR/trap"; exit 0' TERM; sleep 600 & wait`, "exit status 0, which proves nothing"},
		{"ignores TERM", `trap '' TERM; sleep 600; echo; sleep 600`, "killed by SIGKILL"},
		{"catches TERM and exits 255", `trap 'exit 255' TERM; sleep 600 & wait`, "exit status 255"},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			h := b.script("k", c.body)
			h.Env = map[string]string{"DIR": b.dir}
			h.Timeout, h.Grace = 300*time.Millisecond, 500*time.Millisecond
			b.enqueue("k", "1")
			mustNil(t, b.runUntilIdle())
			b.expect(b.job("k", "1"), queue.StateQuarantined, "stopped at its timeout of 300ms", c.reason)
			if c.name == "trap" {
				b.awaitFile("trap")
			}
		})
	}
}

// TestPlainLiveness: silence is a fault, output is a sign of life.
func TestPlainLiveness(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	h := b.script("k", `if [ "$BAILIFF_KEY" = talks ]; then for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do echo $i; sleep 0.2; done; else exec sleep 600; fi`)
	h.Liveness, h.Grace, h.Concurrency = 2*time.Second, 0, 2
	b.enqueue("k", "talks")
	b.enqueue("k", "silent")
	mustNil(t, b.runUntilIdle())
	b.expect(b.job("k", "talks"), queue.StateDone)
	b.expect(b.job("k", "silent"), queue.StateQuarantined, "silent for 2s (liveness)")
}

// TestPlainChangedInPlace: a script overwritten while it runs is not believed;
// one replaced by a rename is.
func TestPlainChangedInPlace(t *testing.T) {
	t.Parallel()
	for _, inPlace := range []bool{true, false} {
		b := newBench(t)
		h := b.script("k", `echo up >"$DIR/up"; while [ ! -s "$DIR/go" ]; do sleep 0.02; done; exit 0`)
		h.Env = map[string]string{"DIR": b.dir}
		b.enqueue("k", "1")
		s := b.serve(nil)
		b.awaitFile("up")
		other := "#!/bin/sh\nexit 0\n# another content\n"
		if inPlace {
			mustNil(t, os.WriteFile(h.File, []byte(other), 0o700))
		} else {
			b.write(h.File, other)
		}
		mustNil(t, os.WriteFile(filepath.Join(b.dir, "go"), []byte("go"), 0o600))
		if inPlace {
			b.expect(b.awaitState("k", "1", queue.StateQuarantined), queue.StateQuarantined, "changed in place while it ran")
		} else {
			b.awaitState("k", "1", queue.StateDone)
		}
		mustNil(t, s.drain())
	}
}

// TestPlainStartFailures: a handler that cannot start costs no job an attempt,
// and all are done once it is mended.
func TestPlainStartFailures(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	h := b.script("k", "exit 0")
	h.Concurrency, h.Retry.MaxAttempts = 4, 1
	mustNil(t, os.Chmod(h.File, 0o600))
	for _, key := range []string{"1", "2", "3", "4", "5", "6"} {
		b.enqueue("k", key)
	}
	err := b.runUntilIdle()
	wantError(t, err, errFailing)
	if err != nil && !strings.Contains(err.Error(), "tried 3 times") {
		t.Errorf("error %q: four starts at once count as one failure, want 3 in all", err)
	}
	for _, key := range []string{"1", "6"} {
		if job := b.job("k", key); job.State != queue.StateReady || job.Attempt != 0 {
			t.Errorf("job %s is %s after %d attempts, want ready after none", key, job.State, job.Attempt)
		}
	}
	mustNil(t, os.Chmod(h.File, 0o700))
	mustNil(t, b.runUntilIdle())
	for _, key := range []string{"1", "2", "3", "4", "5", "6"} {
		if job := b.job("k", key); job.State != queue.StateDone || job.Attempt != 1 {
			t.Errorf("job %s is %s after %d attempts, want done after 1", key, job.State, job.Attempt)
		}
	}
}

// TestPlainChangedArgument: the first word of a command is watched too where the
// second is a file.
func TestPlainChangedArgument(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	h := b.script("k", `echo up >"$DIR/up"; while [ ! -s "$DIR/go" ]; do sleep 0.02; done; exit 0`)
	h.Env = map[string]string{"DIR": b.dir}
	h.Program, h.File = h.File, filepath.Join(b.dir, "data.json")
	mustNil(t, os.WriteFile(h.File, []byte("{}"), 0o600))
	h.Command = []string{h.Program, h.File}
	b.enqueue("k", "1")
	s := b.serve(nil)
	b.awaitFile("up")
	mustNil(t, os.WriteFile(h.Program, []byte("#!/bin/sh\nexit 0\n# another content\n"), 0o700))
	mustNil(t, os.WriteFile(filepath.Join(b.dir, "go"), []byte("go"), 0o600))
	b.expect(b.awaitState("k", "1", queue.StateQuarantined), queue.StateQuarantined, h.Program+" was changed in place")
	mustNil(t, s.drain())
}

// TestPlainRepeatable: an unproven run of a repeatable handler is tried again,
// up to the limit; then nobody knows.
func TestPlainRepeatable(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	h := b.script("k", "kill -9 $$")
	h.Repeatable = true
	h.Retry = config.Retry{MaxAttempts: 3, BaseDelay: time.Millisecond, MaxDelay: time.Millisecond}
	b.enqueue("k", "1")
	mustNil(t, b.runUntilIdle())
	job := b.job("k", "1")
	b.expect(job, queue.StateQuarantined, "killed by SIGKILL")
	if job.Attempt != 3 {
		t.Errorf("%d attempts, want 3", job.Attempt)
	}
}

// TestPlainLongStdout: over 1 MiB is a result that is too big only if it can be
// one.
func TestPlainLongStdout(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, body string
		tooBig     bool
	}{
		{"a log", `yes '[INFO] working' | head -c 1200000`, false},
		{"objects, one a line", `yes '{"a":1}' | head -c 1200000`, false},
		{"words in quotes", `yes '"done" now' | head -c 1200000`, false},
		{"lines in quotes", `yes '"' | head -c 1200000`, false},
		{"deeper than any result", `head -c 1200000 /dev/zero | tr '\0' '['`, false},
		{"white space", `yes '' | head -c 1200000`, false},
		{"a string", `printf '"'; head -c 1200000 /dev/zero | tr '\0' r; printf '"'`, true},
		{"a string in many bytes", `printf '"r'; yes '€' | tr -d '\n' | head -c 1200000; printf '"'`, true},
		{"a list", `printf '["r"'; yes ',"r"' | head -c 1200000; printf ']'`, true},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.script("k", c.body)
			b.enqueue("k", "1")
			result, err := b.supervisor(nil).RunOne(t.Context())
			mustNil(t, err)
			if result.Outcome != supervisor.OneCompleted || (result.Reason != "") != c.tooBig {
				t.Errorf("%s (%q), want completed, too big: %v", result.Outcome, result.Reason, c.tooBig)
			}
		})
	}
}

// TestPlainStaleFolders: what runs of an earlier supervisor left is removed, and
// nothing else.
func TestPlainStaleFolders(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.script("k", "exit 0")
	runs := filepath.Join(b.config.StateDir, "runs")
	for _, name := range []string{"7.1-123", "17.12-4000000000", "mine", "7.1"} {
		mustNil(t, os.MkdirAll(filepath.Join(runs, name), 0o700))
		mustNil(t, os.WriteFile(filepath.Join(runs, name, "outcome"), []byte("{"), 0o600))
	}
	mustNil(t, b.runUntilIdle())
	left, err := filepath.Glob(filepath.Join(runs, "*"))
	mustNil(t, err)
	if want := []string{filepath.Join(runs, "7.1"), filepath.Join(runs, "mine")}; !slices.Equal(left, want) {
		t.Errorf("left %v, want %v", left, want)
	}
}
