package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// bailiff is the program under its demo configuration.
type bailiff struct{ program, config string }

func (b bailiff) command(ctx context.Context, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, b.program, append([]string{"--config", b.config}, args...)...)
}

// output runs one command and returns what it printed.
func (b bailiff) output(ctx context.Context, args ...string) ([]byte, error) {
	cmd := b.command(ctx, args...)
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return nil, fmt.Errorf("bailiff %s: %v: %s", strings.Join(args, " "), err, bytes.TrimSpace(exit.Stderr))
	}
	return out, err
}

// create makes the database unless it is there from an earlier demo.
func (b bailiff) create(ctx context.Context) error {
	_, err := os.Stat(filepath.Join(filepath.Dir(b.config), "demo.db"))
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	_, err = b.output(ctx, "init")
	return err
}

// enqueue hands all jobs over at once and says how many were new.
func (b bailiff) enqueue(ctx context.Context, jobs []job) (added int, err error) {
	var lines bytes.Buffer
	for _, j := range jobs {
		if err := json.MarshalWrite(&lines, j.request); err != nil {
			return 0, err
		}
		lines.WriteByte('\n')
	}
	cmd := b.command(ctx, "enqueue", "--from", "-", "--json")
	cmd.Stdin, cmd.Stderr = &lines, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return 0, fmt.Errorf("bailiff enqueue: %w", err)
	}
	var answer struct {
		Created int `json:"created"`
	}
	err = json.Unmarshal(out, &answer)
	return answer.Created, err
}

// counts is what metrics says.
type counts struct {
	Leased      int `json:"leased"`
	Done        int `json:"done"`
	Dead        int `json:"dead"`
	Quarantined int `json:"quarantined"`
	Cancelled   int `json:"cancelled"`
}

func (c counts) ended() int { return c.Done + c.Dead + c.Quarantined + c.Cancelled }

func (b bailiff) counts(ctx context.Context) (c counts, err error) {
	out, err := b.output(ctx, "metrics", "--json")
	if err != nil {
		return c, err
	}
	return c, json.Unmarshal(out, &c)
}

// record is a job as the queue keeps it.
type record struct {
	Kind      string         `json:"kind"`
	Key       string         `json:"key"`
	State     string         `json:"state"`
	Attempt   int            `json:"attempt"`
	Result    jsontext.Value `json:"result"`
	LastError string         `json:"last_error"`
}

// stored reads the jobs back, by kind and key.
func (b bailiff) stored(ctx context.Context, jobs []job) (map[string]record, error) {
	byName := make(map[string]record, len(jobs))
	for some := range slices.Chunk(jobs, 500) {
		args := []string{"get", "--json"}
		for _, j := range some {
			args = append(args, j.request.Kind+"/"+j.request.Key)
		}
		out, err := b.output(ctx, args...)
		if err != nil {
			return nil, err
		}
		records, err := documents[record](out)
		if err != nil {
			return nil, err
		}
		for _, r := range records {
			byName[r.Kind+"/"+r.Key] = r
		}
	}
	return byName, nil
}

// documents reads one JSON document per line.
func documents[T any](ndjson []byte) (all []T, err error) {
	for line := range bytes.Lines(ndjson) {
		var one T
		if err := json.Unmarshal(line, &one); err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// service is a running supervisor.
type service struct {
	cmd   *exec.Cmd
	ended chan struct{} // closed at its end
	err   error         // how it ended; once ended is closed
}

// start starts the service. The end of ctx asks it to drain, in a process group
// of its own: a Ctrl-C reaches it once, through ctx, and not as a second signal.
func (b bailiff) start(ctx context.Context) (*service, error) {
	s := &service{cmd: b.command(ctx, "run"), ended: make(chan struct{})}
	s.cmd.Stderr = os.Stderr
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	s.cmd.Cancel = func() error { return s.cmd.Process.Signal(syscall.SIGTERM) }
	s.cmd.WaitDelay = time.Minute // its shutdown.drain is less
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the service: %w", err)
	}
	go func() {
		s.err = s.cmd.Wait()
		close(s.ended)
	}()
	return s, nil
}

// stop asks the service to drain and waits for it.
func (s *service) stop() error {
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	<-s.ended
	return s.err
}

// kill ends the service at once, as a crash would.
func (s *service) kill() {
	s.cmd.Process.Kill()
	<-s.ended
}
