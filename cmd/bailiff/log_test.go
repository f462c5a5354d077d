package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/b1213022/bailiff/supervisor/config"
)

// gate is a terminal that was stopped: a write to it waits until it is opened.
type gate struct {
	open chan struct{}
	bytes.Buffer
}

func (g *gate) Write(p []byte) (int, error) {
	<-g.open
	return g.Buffer.Write(p)
}

// TestLogNobodyReads: who writes is never held up, what has room comes in
// order, and in the place of the rest stands how much it was.
func TestLogNobodyReads(t *testing.T) {
	t.Parallel()
	g := &step{taken: make(chan struct{}), over: make(chan struct{}), gate: gate{open: make(chan struct{})}}
	w := newPatientWriter(g, droppedLine(config.Log{Level: "info", Format: "json"}))
	const length, writes = 1 << 10, 1500
	for i := range writes {
		fmt.Fprintf(w, "%-*d\n", length-1, i)
		if i == 0 {
			<-g.taken // it makes room for no other later on
		}
	}
	close(g.over)
	close(g.open)
	w.end()
	<-w.closed // end itself waits for endUnread at most
	lines := strings.Split(strings.TrimSuffix(g.String(), "\n"), "\n")
	last := lines[len(lines)-1]
	kept := len(lines) - 1
	for i, line := range lines[:kept] {
		if strings.TrimSpace(line) != fmt.Sprint(i) {
			t.Fatalf("line %d is %.20q", i, line)
		}
	}
	if want := maxUnread/length + 1; kept != want { // one was taken to be written
		t.Errorf("%d lines were kept, want %d", kept, want)
	}
	if want := fmt.Sprintf(`"lines":%d`, writes-kept); !strings.Contains(last, want) || !strings.Contains(last, "dropped") {
		t.Errorf("the last line is %s; want it to tell of %s dropped", last, want)
	}
}

// step is a terminal that takes a line each time it is told to.
type step struct {
	taken chan struct{} // a line was taken out of what waits
	over  chan struct{} // nobody looks at taken any more
	gate
}

func (s *step) Write(p []byte) (int, error) {
	select {
	case s.taken <- struct{}{}:
	case <-s.over:
	}
	return s.gate.Write(p)
}

// TestLogReadSlowly: while a flood goes on and a line is read now and then, what
// was dropped is told once.
func TestLogReadSlowly(t *testing.T) {
	t.Parallel()
	s := &step{taken: make(chan struct{}), over: make(chan struct{}), gate: gate{open: make(chan struct{})}}
	w := newPatientWriter(s, droppedLine(config.Log{Level: "info", Format: "json"}))
	line := bytes.Repeat([]byte("x"), 1<<10)
	line[len(line)-1] = '\n'
	flood := func(lines int) {
		for range lines {
			_, _ = w.Write(line)
		}
	}
	flood(2 * maxUnread / len(line))
	<-s.taken
	for range 100 {
		s.open <- struct{}{}
		<-s.taken
		flood(3)
	}
	close(s.over)
	close(s.open)
	w.end()
	if n := strings.Count(s.String(), "log lines dropped"); n != 1 {
		t.Errorf("drops were told %d times, want once", n)
	}
}

// TestLogReserve: a flood of lines that are only for information leaves room for
// warnings.
func TestLogReserve(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"text", "json"} {
		c := config.Log{Level: "info", Format: format}
		g := &gate{open: make(chan struct{})}
		w := newPatientWriter(g, droppedLine(c))
		logger := newLogger(w, c).With("kind", "k")
		for range 2 * maxUnread >> 10 {
			logger.Info("handler output", "line", strings.Repeat("x", 1<<10))
		}
		const warnings = 100 // more than fit where one more line of the flood does not
		for range warnings {
			logger.Warn("run recorded: the job needs a person")
		}
		close(g.open)
		w.end()
		if n := strings.Count(g.String(), "needs a person"); n != warnings {
			t.Errorf("%s: %d of %d warnings are in the log, the flood pushed the others out", format, n, warnings)
		}
	}
}

// TestServiceWhoseLogIsStuck: a terminal in Ctrl-S keeps neither a timeout from
// killing, nor a run from being recorded, nor the service from ending.
func TestServiceWhoseLogIsStuck(t *testing.T) {
	t.Parallel()
	s := newSite(t, "handler \"stuck\" {\n  command = [\"sleep\", \"600\"]\n  timeout = \"200ms\"\n  grace = \"0s\"\n}\n")
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	defer writer.Close()
	fill(t, writer)
	s.run(0, "enqueue", "stuck", "1")
	cmd := s.command("run")
	cmd.Stderr = writer
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	s.await("the timeout", func() bool {
		return strings.Contains(s.run(0, "get", "--json", "stuck/1"), `"state":"quarantined"`)
	}, func() string { return s.run(0, "get", "stuck/1") })
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the service ended with %v, want 0: everything is recorded", err)
	}
}

// fill leaves no room in a pipe.
func fill(t *testing.T, pipe *os.File) {
	t.Helper()
	conn, err := pipe.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	chunk := make([]byte, 4096)
	err = conn.Write(func(fd uintptr) bool {
		for {
			if _, err := syscall.Write(int(fd), chunk); err != nil {
				return true
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}
