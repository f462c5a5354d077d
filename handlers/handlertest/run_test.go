// Package handlertest holds the tests of the handlers that ship and of those in
// docs/protocol.md: each is run by its real interpreter, in the protocol that it
// speaks.
package handlertest_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/b1213022/bailiff/childproto"
)

// need skips the test if a handler's interpreter is not installed.
func need(t *testing.T, interpreter string) {
	t.Helper()
	if _, err := exec.LookPath(interpreter); err != nil {
		t.Skipf("%s is not installed, so its handlers cannot be run: %v", interpreter, err)
	}
}

// environment is the little that a supervisor gives to a handler.
func environment(more ...string) []string {
	return append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "LANG=C.UTF-8"}, more...)
}

// plain runs a plain handler once.
func plain(t *testing.T, argv []string, payload string) (status int, stdout, stderr string) {
	t.Helper()
	var out, log bytes.Buffer
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = environment(childproto.PlainEnv(&childproto.Job{ID: 1, Kind: "test", Key: "k", Fence: 1, Attempt: 1, MaxAttempts: 5})...)
	cmd.Stdin = strings.NewReader(payload + "\n")
	cmd.Stdout, cmd.Stderr = &out, &log
	if err := cmd.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), log.String()
}

// child is a lines handler at work.
type child struct {
	t     *testing.T
	cmd   *exec.Cmd
	stdin io.WriteCloser
	lines *childproto.Reader
	log   bytes.Buffer // its stderr; to be read once it has ended
}

// startLines starts a lines handler and waits until it is ready.
func startLines(t *testing.T, argv ...string) *child {
	t.Helper()
	c := &child{t: t, cmd: exec.Command(argv[0], argv[1:]...)}
	c.cmd.Env = environment(childproto.LinesEnv()...)
	c.cmd.Stderr = &c.log
	var err error
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.lines = childproto.NewReader(bufio.NewReader(stdout))
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill() // both fail where the test has seen its end
		_ = c.cmd.Wait()
	})
	if m := c.hear(); m.Type != childproto.TypeReady || m.Protocol != childproto.Version {
		t.Fatalf("it said %+v, want ready, protocol 1", m)
	}
	return c
}

// hear reads one message; everything on stdout has to be one.
func (c *child) hear() childproto.Message {
	c.t.Helper()
	line, err := c.lines.Next()
	if err != nil || line.Stray || line.Partial || line.TooLong {
		c.t.Fatalf("it said %+v, %v, want a message", line, err)
	}
	m, err := childproto.ParseMessage(line.Text)
	if err != nil {
		c.t.Fatal(err)
	}
	return m
}

// run hands a job over and answers with the outcome, for this very job.
func (c *child) run(id int64, payload string) childproto.Outcome {
	c.t.Helper()
	job := &childproto.Job{ID: id, Kind: "test", Key: "k", Fence: 1, Attempt: 1, MaxAttempts: 5, Payload: jsontext.Value(payload)}
	if _, err := c.stdin.Write(childproto.AppendJob(nil, job)); err != nil {
		c.t.Fatal(err)
	}
	for {
		m := c.hear()
		outcome, ok := m.Outcome()
		if !ok {
			continue
		}
		if m.ID != id {
			c.t.Fatalf("it answered for job %d, want %d", m.ID, id)
		}
		return outcome
	}
}

// finish ends stdin, as a supervisor does, and checks that the child ends well.
func (c *child) finish() {
	c.t.Helper()
	if err := c.stdin.Close(); err != nil {
		c.t.Fatal(err)
	}
	if line, err := c.lines.Next(); !errors.Is(err, io.EOF) {
		c.t.Errorf("after the end of stdin it said %q, %v", line.Text, err)
	}
	if err := c.cmd.Wait(); err != nil {
		c.t.Errorf("it ended with %v; stderr: %s", err, &c.log)
	}
}
