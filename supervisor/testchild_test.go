package supervisor_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// This file is what the test binary does when it runs as a lines child. It
// speaks the protocol by hand, so that it can break it.

var idOf = regexp.MustCompile(`"id":(\d+)`)

type talk struct {
	in     *bufio.Reader
	served int
}

// say prints a line; %d in it is the present job's id.
func say(format string, args ...any) { fmt.Printf(format+"\n", args...) }

// note appends a line to a file in the test's folder.
func note(name, text string) {
	f, err := os.OpenFile(filepath.Join(os.Getenv("BAILIFF_TEST_DIR"), name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	_, _ = f.WriteString(text + "\n")
	_ = f.Close()
}

// next reads the next job; ok is false at the end of stdin.
func (t *talk) next() (id int64, ok bool) {
	for {
		line, err := t.in.ReadString('\n')
		if err != nil {
			return 0, false
		}
		if !strings.Contains(line, `"type":"job"`) {
			continue
		}
		id, _ = strconv.ParseInt(idOf.FindStringSubmatch(line)[1], 10, 64)
		return id, true
	}
}

// first reports whether no child of this test came here before.
func first(name string) bool {
	f, err := os.OpenFile(filepath.Join(os.Getenv("BAILIFF_TEST_DIR"), name), os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return false
	}
	_ = f.Close()
	return true
}

func forever() {
	for {
		time.Sleep(time.Hour)
	}
}

// child behaves as told and answers its exit status.
func child(behaviour string) int {
	t := &talk{in: bufio.NewReaderSize(os.Stdin, 4<<20)}
	switch behaviour {
	case "dies before ready":
		fmt.Fprintln(os.Stderr, "no module named torch")
		return 3
	case "speaks protocol 2":
		say(`{"type":"ready","protocol":2}`)
		forever()
	case "never ready":
		forever()
	}
	say(`{"type":"ready","protocol":1}`)
	if behaviour == "dies unread" {
		time.Sleep(50 * time.Millisecond)
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	if behaviour == "acts on the beginning" {
		var beginning [40]byte
		if _, err := io.ReadFull(os.Stdin, beginning[:]); err != nil {
			return 1
		}
		note("began", string(beginning[:]))
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	note("children", strconv.Itoa(os.Getpid()))
	for {
		id, ok := t.next()
		if !ok {
			return 0
		}
		t.served++
		if status, end := t.serve(behaviour, id); end {
			return status
		}
	}
}

// serve works on one job.
func (t *talk) serve(behaviour string, id int64) (status int, end bool) {
	note("began", strconv.FormatInt(id, 10))
	switch behaviour {
	case "done":
		say(`{"type":"done","id":%d,"result":{"n":9007199254740993}}`, id)
	case "pid":
		say(`{"type":"done","id":%d,"result":%d}`, id, os.Getpid())
	case "retry":
		say(`{"type":"retry","id":%d,"reason":"provider is down","after_ms":60000}`, id)
	case "dead":
		say(`{"type":"dead","id":%d,"reason":"no such address"}`, id)
	case "uncertain":
		say(`{"type":"uncertain","id":%d,"reason":"the line broke"}`, id)
	case "snooze":
		say(`{"type":"snooze","id":%d,"after_ms":60000}`, id)
	case "stray":
		say(`Loading model…`)
		say(`{"type":"progress","id":%d,"percent":40,"message":"pass 1"}`, id)
		say(`{"type":"done","id":%d}`, id)
		say(`bye`)
	case "progress":
		say(`{"type":"progress","id":%d,"percent":40,"message":"pass 1\u001b[2J"}`, id)
		forever()
	case "exits without a word":
		fmt.Fprintln(os.Stderr, "Traceback: boom")
		return 0, true
	case "killed":
		say(`{"type":"alive","id":%d}`, id)
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
		forever()
	case "foreign":
		say(`{"type":"done","id":%d}`, id+1000)
		forever()
	case "garbage":
		say(`{"type":"done","id":%d,"result":NaN}`, id)
		forever()
	case "unknown type":
		say(`{"type":"finished","id":%d}`, id)
		forever()
	case "twice":
		fmt.Printf("{\"type\":\"done\",\"id\":%d}\n{\"type\":\"dead\",\"id\":%d,\"reason\":\"no\"}\n", id, id)
	case "answers and crashes":
		say(`{"type":"done","id":%d}`, id)
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
		forever()
	case "partial":
		fmt.Printf(`{"type":"done","id":%d}`, id)
		return 0, true
	case "closes stdout":
		_ = os.Stdout.Close()
		forever()
	case "effect":
		say(`{"type":"effect","id":%d,"name":"charge"}`, id)
		answer, _ := t.in.ReadString('\n')
		say(`{"type":"dead","id":%d,"reason":%q}`, id, strings.TrimSpace(answer))
	case "receipt":
		say(`{"type":"receipt","id":%d,"name":"charge","receipt":{}}`, id)
		forever()
	case "hangs":
		signal.Ignore(syscall.SIGTERM)
		forever()
	case "answers cancel":
		line, _ := t.in.ReadString('\n')
		say(`{"type":"retry","id":%d,"reason":%q}`, id, "told: "+strings.TrimSpace(line))
	case "says it twice, late":
		if !first("said") {
			say(`{"type":"done","id":%d}`, id)
			return 0, false
		}
		say(`{"type":"retry","id":%d,"reason":"the first","after_ms":0}`, id)
		stdin := []unix.PollFd{{Fd: 0, Events: unix.POLLIN}}
		for n := 0; n == 0; n, _ = unix.Poll(stdin, -1) { // until the job's next run stands in the pipe
		}
		term := make(chan os.Signal, 1)
		signal.Notify(term, syscall.SIGTERM)
		say(`{"type":"retry","id":%d,"reason":"the late one"}`, id)
		<-term // one that is told so may still read its job and begin
		_, _ = t.next()
		forever()
	case "closes stdin, answers SIGTERM":
		term := make(chan os.Signal, 1)
		signal.Notify(term, syscall.SIGTERM)
		_ = os.Stdin.Close()
		<-term
		say(`{"type":"dead","id":%d,"reason":"told by SIGTERM"}`, id)
		forever()
	case "floods first":
		for range 20_000 {
			say(`{"type":"progress","id":%d,"percent":1}`, id)
		}
		fmt.Fprint(os.Stderr, strings.Repeat("x", 1<<20)+"\n")
		say(`{"type":"done","id":%d}`, id)
	case "big result":
		say(`{"type":"done","id":%d,"result":"%s"}`, id, strings.Repeat("r", 1<<20))
	}
	return 0, false
}
