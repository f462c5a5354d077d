package childproto_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/b1213022/bailiff/childproto"
)

// TestMain is the tests, or, run by one of them, a handler.
func TestMain(m *testing.M) {
	if os.Getenv("TEST_AS_HANDLER") != "" {
		childproto.Main(handle)
	}
	os.Exit(m.Run())
}

// handle does what the payload's "do" says.
func handle(ctx context.Context, task *childproto.Task) (any, error) {
	var p struct {
		Do string `json:"do"`
	}
	if err := task.Decode(&p); err != nil {
		return nil, err
	}
	switch p.Do {
	case "echo":
		return task.Payload, nil
	case "nothing":
		return nil, nil
	case "about":
		return map[string]any{"id": task.ID, "key": task.Key, "attempt": task.Attempt, "meta": task.Meta, "due": task.DueAt.UTC().Format(time.RFC3339)}, nil
	case "print":
		fmt.Println(`{"type":"done","id":99}`)
		command := exec.Command("echo", "a child's print")
		command.Stdout = os.Stdout
		return "printed", command.Run()
	case "talk":
		task.Progress(150, "nearly")
		task.Alive()
		task.Log("debug", "looked", map[string]any{"files": 3})
		return nil, nil
	case "error":
		return nil, errors.New("disk on fire")
	case "retry":
		return nil, fmt.Errorf("call provider: %w", childproto.Retry("429", 90*time.Second))
	case "dead":
		return nil, childproto.Dead("no such customer")
	case "uncertain":
		return nil, childproto.Uncertain("no answer")
	case "snooze":
		return nil, childproto.Snooze(time.Minute)
	case "own deadline":
		ctx, stop := context.WithTimeout(ctx, 0)
		defer stop()
		<-ctx.Done()
		return nil, ctx.Err()
	case "panic":
		panic("lost my mind")
	case "goexit":
		runtime.Goexit()
	case "nan":
		return math.NaN(), nil
	case "big":
		return strings.Repeat("x", childproto.MaxResult), nil
	case "deep":
		return json(nested(51)), nil
	case "wait":
		task.Progress(0, "waiting")
		<-ctx.Done()
		return nil, ctx.Err()
	case "wait and finish":
		task.Progress(0, "waiting")
		<-ctx.Done()
		return context.Cause(ctx).Error(), nil
	}
	return nil, childproto.Dead("do what?")
}

// json is a text that is its own JSON.
type json string

func (j json) MarshalJSON() ([]byte, error) { return []byte(j), nil }

// child is the test binary at work as a handler.
type child struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	pipe   io.ReadCloser // its stdout
	stdout *bufio.Reader // on pipe
	stderr bytes.Buffer  // to be read once it has ended
}

func start(t *testing.T, env ...string) *child {
	t.Helper()
	c := &child{t: t, cmd: exec.Command(os.Args[0])}
	c.cmd.Env = append(os.Environ(), append(env, "TEST_AS_HANDLER=1")...)
	c.cmd.Stderr = &c.stderr
	var err error
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if c.pipe, err = c.cmd.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	c.stdout = bufio.NewReader(c.pipe)
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill() // both fail where the test has seen its end
		_ = c.cmd.Wait()
	})
	return c
}

func startLines(t *testing.T) *child {
	t.Helper()
	c := start(t, childproto.LinesEnv()...)
	c.hear(`{"type":"ready","protocol":1}`)
	return c
}

// hear reads one line and checks it.
func (c *child) hear(want string) {
	c.t.Helper()
	line, err := c.stdout.ReadString('\n')
	if err != nil || strings.TrimSuffix(line, "\n") != want {
		c.t.Fatalf("the child said %q, %v, want %q", line, err, want)
	}
}

func (c *child) job(id int64, do string) {
	c.t.Helper()
	c.say(string(childproto.AppendJob(nil, &childproto.Job{ID: id, Payload: fmt.Appendf(nil, `{"do":%q}`, do)})))
}

func (c *child) say(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c.stdin, text); err != nil {
		c.t.Fatal(err)
	}
}

// exit waits for the end, checks that nothing more was said, and answers with
// the exit status.
func (c *child) exit() int {
	c.t.Helper()
	if rest, err := io.ReadAll(c.stdout); err != nil || len(rest) > 0 {
		c.t.Errorf("the child also said %q, %v", rest, err)
	}
	_ = c.cmd.Wait() // the status is asked for below
	return c.cmd.ProcessState.ExitCode()
}

func TestServeLinesOutcomes(t *testing.T) {
	t.Parallel()
	c := startLines(t)
	tests := []struct{ do, want string }{
		{"echo", `{"type":"done","id":%d,"result":{"do":"echo"}}`},
		{"nothing", `{"type":"done","id":%d}`},
		{"print", `{"type":"done","id":%d,"result":"printed"}`},
		{"error", `{"type":"retry","id":%d,"reason":"disk on fire"}`},
		{"retry", `{"type":"retry","id":%d,"reason":"call provider: 429","after_ms":90000}`},
		{"dead", `{"type":"dead","id":%d,"reason":"no such customer"}`},
		{"uncertain", `{"type":"uncertain","id":%d,"reason":"no answer"}`},
		{"snooze", `{"type":"snooze","id":%d,"after_ms":60000}`},
		{"own deadline", `{"type":"uncertain","id":%d,"reason":"stopped half-way: context deadline exceeded"}`},
		{"?", `{"type":"dead","id":%d,"reason":"do what?"}`},
	}
	for i, test := range tests {
		id := int64(i + 1)
		c.job(id, test.do)
		c.hear(fmt.Sprintf(test.want, id))
	}
	c.stdin.Close()
	if status := c.exit(); status != 0 {
		t.Errorf("exit status %d after end of file, want 0; stderr: %s", status, &c.stderr)
	}
	for _, print := range []string{`{"type":"done","id":99}`, "a child's print"} {
		if !strings.Contains(c.stderr.String(), print) {
			t.Errorf("stderr lacks the stray print %q: %q", print, &c.stderr)
		}
	}
}

func TestServeLinesTalk(t *testing.T) {
	t.Parallel()
	c := startLines(t)
	c.job(1, "talk")
	c.hear(`{"type":"progress","id":1,"percent":100,"message":"nearly"}`)
	c.hear(`{"type":"alive","id":1}`)
	c.hear(`{"type":"log","id":1,"level":"debug","message":"looked","fields":{"files":3}}`)
	c.hear(`{"type":"done","id":1}`)
}

func TestServeLinesResultThatCannotBeSent(t *testing.T) {
	t.Parallel()
	c := startLines(t)
	for i, test := range []struct{ do, want string }{
		{"nan", "cannot be sent"},
		{"big", "longer than 1 MiB"},
		{"deep", "nested deeper than 50"},
	} {
		id := int64(i + 1)
		c.job(id, test.do)
		line, err := c.stdout.ReadBytes('\n')
		if err != nil {
			t.Fatal(err)
		}
		m, err := childproto.ParseMessage(line)
		if err != nil || m.Type != childproto.TypeLog || m.Level != "warn" || m.ID != id || !strings.Contains(m.Text, test.want) {
			t.Errorf("%s: said %s (%v), want a warning with %q", test.do, line, err, test.want)
		}
		c.hear(fmt.Sprintf(`{"type":"done","id":%d}`, id))
	}
}

func TestServeLinesCrash(t *testing.T) {
	t.Parallel()
	for do, reason := range map[string]string{"panic": "panic: lost my mind", "goexit": "the handler left its goroutine without an answer"} {
		t.Run(do, func(t *testing.T) {
			t.Parallel()
			c := startLines(t)
			c.job(5, do)
			c.hear(`{"type":"uncertain","id":5,"reason":"` + reason + `"}`)
			if status := c.exit(); status != 1 {
				t.Errorf("exit status %d, want 1: the process is not to be trusted", status)
			}
			if do == "panic" && !strings.Contains(c.stderr.String(), "serve_test.go") {
				t.Errorf("stderr lacks the stack: %q", &c.stderr)
			}
		})
	}
}

func TestServeLinesCancel(t *testing.T) {
	t.Parallel()
	c := startLines(t)
	c.job(1, "wait")
	c.hear(`{"type":"progress","id":1,"percent":0,"message":"waiting"}`)
	c.say(string(childproto.AppendCancel(nil, 2, childproto.CancelCancelled, time.Second))) // another job's
	c.say(`{"type":"news","of":"a later version"}` + "\n")
	c.say(string(childproto.AppendCancel(nil, 1, childproto.CancelTimeout, time.Second)))
	c.hear(`{"type":"uncertain","id":1,"reason":"stopped half-way (cancelled: timeout): context canceled"}`)

	c.job(2, "wait and finish")
	c.hear(`{"type":"progress","id":2,"percent":0,"message":"waiting"}`)
	c.say(string(childproto.AppendCancel(nil, 2, childproto.CancelShutdown, time.Second)))
	c.hear(`{"type":"done","id":2,"result":"cancelled: shutdown"}`)
}

func TestServeLinesEndOfFileFinishesTheJob(t *testing.T) {
	t.Parallel()
	c := startLines(t)
	c.job(1, "wait and finish")
	c.hear(`{"type":"progress","id":1,"percent":0,"message":"waiting"}`)
	c.job(2, "echo")
	c.say(string(childproto.AppendCancel(nil, 1, childproto.CancelCancelled, time.Second)))
	c.stdin.Close()
	c.hear(`{"type":"done","id":1,"result":"cancelled: cancelled"}`)
	c.hear(`{"type":"done","id":2,"result":{"do":"echo"}}`)
	if status := c.exit(); status != 0 {
		t.Errorf("exit status %d, want 0", status)
	}
}

func TestServeLinesTerminated(t *testing.T) {
	t.Parallel()
	t.Run("idle", func(t *testing.T) {
		t.Parallel()
		c := startLines(t)
		if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if status := c.exit(); status != 0 {
			t.Errorf("exit status %d, want 0", status)
		}
	})
	t.Run("at work", func(t *testing.T) {
		t.Parallel()
		c := startLines(t)
		c.job(1, "wait")
		c.hear(`{"type":"progress","id":1,"percent":0,"message":"waiting"}`)
		if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		c.hear(`{"type":"uncertain","id":1,"reason":"stopped half-way (terminated signal received): context canceled"}`)
		if status := c.exit(); status != 0 {
			t.Errorf("exit status %d, want 0", status)
		}
	})
}

func TestServeLinesNobodyReads(t *testing.T) {
	t.Parallel()
	c := startLines(t)
	c.job(1, "wait")
	c.hear(`{"type":"progress","id":1,"percent":0,"message":"waiting"}`)
	if err := c.pipe.Close(); err != nil {
		t.Fatal(err)
	}
	c.say(string(childproto.AppendCancel(nil, 1, childproto.CancelCancelled, 0)))
	// A process that another test is just starting may hold the pipe for a
	// moment: give the child something to say until it has ended.
	for err := error(nil); err == nil; {
		_, err = io.WriteString(c.stdin, `{"type":"job","id":2,"payload":{"do":"nothing"}}`+"\n")
	}
	_ = c.cmd.Wait() // the status is asked for below
	if status := c.cmd.ProcessState.ExitCode(); status != 1 || !strings.Contains(c.stderr.String(), "write to stdout") {
		t.Errorf("exit status %d, stderr %q, want 1 and the reason", status, &c.stderr)
	}
}

func TestServeLinesRefusesWhatIsNoMessage(t *testing.T) {
	t.Parallel()
	c := startLines(t)
	c.say("hello\n")
	if status := c.exit(); status != 1 || !strings.Contains(c.stderr.String(), "not strict JSON") {
		t.Errorf("exit status %d, stderr %q, want 1 and the reason", status, &c.stderr)
	}
}

func TestServePlain(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		status          int
		stdout, outcome string
		stderr          string // part of it
	}{
		"echo":      {0, `{"do":"echo"}` + "\n", `{"type":"done","id":17}`, ""},
		"nothing":   {0, "", `{"type":"done","id":17}`, ""},
		"about":     {0, `{"attempt":1,"due":"2026-11-30T03:00:00Z","id":17,"key":"inv-1001","meta":{"a":1}}` + "\n", `{"type":"done","id":17}`, ""},
		"print":     {0, `"printed"` + "\n", `{"type":"done","id":17}`, "a child's print\n"},
		"talk":      {0, "", `{"type":"done","id":17}`, "100% nearly\nalive\ndebug: looked {\"files\":3}\n"},
		"error":     {75, "", `{"type":"retry","id":17,"reason":"disk on fire"}`, "disk on fire\n"},
		"retry":     {75, "", `{"type":"retry","id":17,"reason":"call provider: 429","after_ms":90000}`, "call provider: 429\n"},
		"dead":      {65, "", `{"type":"dead","id":17,"reason":"no such customer"}`, "no such customer\n"},
		"uncertain": {76, "", `{"type":"uncertain","id":17,"reason":"no answer"}`, "no answer\n"},
		"snooze":    {75, "", `{"type":"snooze","id":17,"after_ms":60000}`, "snooze for 1m0s\n"},
		"panic":     {76, "", `{"type":"uncertain","id":17,"reason":"panic: lost my mind"}`, "lost my mind"},
		"nan":       {0, "", `{"type":"done","id":17}`, "cannot be sent"},
	}
	for do, test := range tests {
		t.Run(do, func(t *testing.T) {
			t.Parallel()
			job := exampleJob()
			job.Meta = []byte(`{"a":1}`)
			outcome := filepath.Join(t.TempDir(), "outcome")
			c := start(t, append(childproto.PlainEnv(&job), "BAILIFF_OUTCOME="+outcome)...)
			c.say(fmt.Sprintf("{\"do\":%q}\n", do))
			c.stdin.Close()
			stdout, err := io.ReadAll(c.stdout)
			if err != nil {
				t.Fatal(err)
			}
			if status := c.exit(); status != test.status {
				t.Errorf("exit status %d, want %d; stderr %s", status, test.status, &c.stderr)
			}
			if string(stdout) != test.stdout {
				t.Errorf("stdout %q, want %q", stdout, test.stdout)
			}
			if !strings.Contains(c.stderr.String(), test.stderr) {
				t.Errorf("stderr %q lacks %q", &c.stderr, test.stderr)
			}
			left, err := os.ReadFile(outcome)
			if err != nil || string(left) != test.outcome+"\n" {
				t.Errorf("BAILIFF_OUTCOME holds %q, %v, want %q", left, err, test.outcome)
			}
			if _, err := childproto.ParseOutcomeFile(left, 17); err != nil {
				t.Errorf("BAILIFF_OUTCOME breaks the protocol: %v", err)
			}
		})
	}
}

func TestServePlainByHand(t *testing.T) {
	t.Parallel()
	for payload, want := range map[string]struct {
		status         int
		stdout, stderr string
	}{
		"\xef\xbb\xbf{\"do\":\"echo\"}\r\n": {0, "{\"do\":\"echo\"}\n", ""},
		"":                                  {65, "", "payload on stdin: empty"},
		`{"do":5}`:                          {65, "", "payload: "},
		`{"do":"a",}`:                       {65, "", "payload on stdin: "},
	} {
		c := start(t)
		c.say(payload)
		c.stdin.Close()
		stdout, _ := io.ReadAll(c.stdout)
		if status := c.exit(); status != want.status || string(stdout) != want.stdout || !strings.Contains(c.stderr.String(), want.stderr) {
			t.Errorf("%q: exit status %d, stdout %q, stderr %q, want %+v", payload, status, stdout, &c.stderr, want)
		}
	}
}

func TestServePlainTerminated(t *testing.T) {
	t.Parallel()
	outcome := filepath.Join(t.TempDir(), "outcome")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "TEST_AS_HANDLER=1", "BAILIFF_PROTOCOL=plain", "BAILIFF_OUTCOME="+outcome)
	cmd.Stdin = strings.NewReader(`{"do":"wait and finish"}`)
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // both fail where the test has seen its end
		_ = cmd.Wait()
	})
	said := bufio.NewReader(stderr)
	if line, err := said.ReadString('\n'); line != "0% waiting\n" {
		t.Fatalf("stderr %q, %v, want to see it at work", line, err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if want := `"terminated signal received"` + "\n"; stdout.String() != want {
		t.Errorf("stdout %q, want %q", &stdout, want)
	}
	// Exit status 0 after a SIGTERM would prove nothing; the file does.
	if left, err := os.ReadFile(outcome); string(left) != `{"type":"done"}`+"\n" {
		t.Errorf("BAILIFF_OUTCOME holds %q, %v, want done", left, err)
	}
}
