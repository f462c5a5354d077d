package supervisor_test

import (
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/b1213022/bailiff/childproto"
	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/supervisor"
	"github.com/b1213022/bailiff/supervisor/config"
	"github.com/b1213022/bailiff/supervisor/process"
)

func exit(code int) *process.Exit           { return &process.Exit{Code: code} }
func died(sig syscall.Signal) *process.Exit { return &process.Exit{Signal: sig} }
func answer(is childproto.End) *childproto.Outcome {
	return &childproto.Outcome{Is: is, Reason: "the handler's own words"}
}

// TestJudge walks the table row by row, for both protocols.
func TestJudge(t *testing.T) {
	t.Parallel()
	minute := time.Minute
	tooLong := &process.StartError{Path: "/h", Reason: "too long", Err: syscall.E2BIG}
	type ev = supervisor.Evidence
	for _, c := range []struct {
		name   string
		lines  bool
		e      ev
		row    int
		is     queue.RunEnd
		reason string
	}{
		{"lost lease beats an answer", true, ev{Lost: true, Answer: answer("done")}, 1, "", "lease"},
		{"lost lease beats a status", false, ev{Lost: true, Exit: exit(0)}, 1, "", "lease"},

		{"given back", false, ev{GivenBack: "the service stops"}, 2, queue.RunSnooze, "the service stops"},
		{"did not start", false, ev{StartError: errors.New("no execute bit")}, 2, queue.RunSnooze, "does not start: no execute bit"},
		{"did not start", true, ev{StartError: errors.New("no execute bit")}, 2, queue.RunSnooze, "does not start: no execute bit"},
		{"too long for the first job: the handler", false, ev{StartError: tooLong}, 2, queue.RunSnooze, "does not start"},
		{"too long, others started: this job", false, ev{StartError: tooLong, StartedBefore: true}, 2, queue.RunDead, "too long"},
		{"died with the job unread", true, ev{Exit: died(syscall.SIGKILL), Untouched: true}, 2, queue.RunSnooze, "before it had read the job"},
		{"died with a part of the job read, or none can tell", true, ev{Exit: exit(1)}, 6, queue.RunUncertain, "exit status 1"},
		{"unread but heard of", true, ev{Exit: exit(1), Untouched: true, Heard: true}, 6, queue.RunUncertain, "exit status 1"},
		{"answered without reading", true, ev{Exit: exit(0), Untouched: true, Heard: true, Answer: answer("done")}, 4, queue.RunDone, ""},
		{"protocol broken with the job unread", true, ev{Exit: died(syscall.SIGKILL), Untouched: true, ProtocolError: errors.New("a second ready"), Stop: supervisor.StopProtocol}, 2, queue.RunSnooze, "the child broke the protocol before it had read the job: a second ready"},
		{"stopped at its timeout with the job unread", true, ev{Exit: died(syscall.SIGKILL), Untouched: true, Stop: supervisor.StopTimeout}, 2, queue.RunSnooze, "stopped at its timeout of 1m0s; the child ended before it had read the job: killed by SIGKILL"},

		{"changed in place, 0", false, ev{Exit: exit(0), ChangedInPlace: "/srv/mail.sh"}, 3, queue.RunUncertain, "the handler's file /srv/mail.sh was changed in place"},
		{"changed in place, answered", false, ev{Exit: exit(0), ChangedInPlace: "/srv/mail.sh", Answer: answer("done")}, 3, queue.RunUncertain, "the handler's file /srv/mail.sh was changed in place"},
		{"changed in place means nothing to lines", true, ev{ChangedInPlace: "/srv/mail.sh", Answer: answer("done")}, 4, queue.RunDone, ""},

		{"done", true, ev{Answer: answer("done")}, 4, queue.RunDone, ""},
		{"retry", true, ev{Answer: answer("retry")}, 4, queue.RunRetry, "the handler's own words"},
		{"dead", true, ev{Answer: answer("dead")}, 4, queue.RunDead, "the handler's own words"},
		{"uncertain", true, ev{Answer: answer("uncertain")}, 4, queue.RunUncertain, "the handler's own words"},
		{"snooze", true, ev{Answer: answer("snooze")}, 4, queue.RunSnooze, ""},
		{"answer, then a crash", true, ev{Answer: answer("done"), Exit: died(syscall.SIGSEGV)}, 4, queue.RunDone, ""},
		{"answer in the grace", true, ev{Answer: answer("retry"), Stop: supervisor.StopTimeout}, 4, queue.RunRetry, "stopped at its timeout of 1m0s; the handler's own words"},
		{"outcome file beats the status", false, ev{Answer: answer("dead"), Exit: exit(0)}, 4, queue.RunDead, "the handler's own words"},
		{"outcome file beats a signal", false, ev{Answer: answer("done"), Exit: died(syscall.SIGKILL), Stop: supervisor.StopTimeout}, 4, queue.RunDone, ""},
		{"0", false, ev{Exit: exit(0)}, 4, queue.RunDone, ""},
		{"65", false, ev{Exit: exit(65), Stderr: "bad address"}, 4, queue.RunDead, "exit status 65; last stderr line: bad address"},
		{"75", false, ev{Exit: exit(75)}, 4, queue.RunRetry, "exit status 75"},
		{"76", false, ev{Exit: exit(76)}, 4, queue.RunUncertain, "exit status 76"},
		{"exit block: dead", false, ev{Exit: exit(64)}, 4, queue.RunDead, "exit status 64"},
		{"exit block: retry", false, ev{Exit: exit(69)}, 4, queue.RunRetry, "exit status 69"},
		{"exit block beats the shell's statuses", false, ev{Exit: exit(137)}, 4, queue.RunRetry, "137"},
		{"75 after told", false, ev{Exit: exit(75), Stop: supervisor.StopShutdown}, 4, queue.RunRetry, "interrupted by shutdown; exit status 75"},
		{"exit block after told", false, ev{Exit: exit(64), Stop: supervisor.StopCancelled}, 4, queue.RunDead, "stopped because the job was cancelled; exit status 64"},

		{"another status", false, ev{Exit: exit(3), Stderr: "boom"}, 5, queue.RunRetry, "exit status 3; last stderr line: boom"},
		{"255 by itself", false, ev{Exit: exit(255)}, 5, queue.RunRetry, "255"},

		{"0 after told", false, ev{Exit: exit(0), Stop: supervisor.StopTimeout}, 6, queue.RunUncertain, "timeout of 1m0s"},
		{"255 after told", false, ev{Exit: exit(255), Stop: supervisor.StopTimeout}, 6, queue.RunUncertain, "exit status 255"},
		{"death by signal", false, ev{Exit: died(syscall.SIGKILL)}, 6, queue.RunUncertain, "killed by SIGKILL"},
		{"a shell's word for SEGV", false, ev{Exit: exit(139)}, 6, queue.RunUncertain, "exit status 139 (the way of a shell to say that its command was killed by SIGSEGV)"},
		{"broken outcome file", false, ev{Exit: exit(65), AnswerError: errors.New("no type")}, 6, queue.RunUncertain, "BAILIFF_OUTCOME holds no outcome: no type"},
		{"exit without an outcome", true, ev{Exit: exit(0), Stderr: "eof"}, 6, queue.RunUncertain, "exit status 0 without an outcome: it never said done, retry or dead; last stderr line: eof"},
		{"statuses mean nothing to lines", true, ev{Exit: exit(75)}, 6, queue.RunUncertain, "exit status 75"},
		{"broken protocol", true, ev{Exit: died(syscall.SIGTERM), ProtocolError: errors.New("a second ready"), Stop: supervisor.StopProtocol}, 6, queue.RunUncertain, "broken protocol: a second ready"},
		{"silent too long", true, ev{Exit: died(syscall.SIGTERM), Stop: supervisor.StopLiveness}, 6, queue.RunUncertain, "silent for 20s"},
		{"cancelled without an answer", true, ev{Exit: died(syscall.SIGTERM), Stop: supervisor.StopCancelled}, 6, queue.RunUncertain, "the job was cancelled"},
		{"shutdown without an answer", true, ev{Exit: died(syscall.SIGTERM), Stop: supervisor.StopShutdown}, 6, queue.RunUncertain, "interrupted by shutdown"},
	} {
		protocol := config.Plain
		if c.lines {
			protocol = config.Lines
		}
		t.Run(string(protocol)+"/"+strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			c.e.Handler = &config.Handler{
				Kind: "k", Protocol: protocol, File: "/handlers/k", Timeout: minute, Liveness: 20 * time.Second,
				Retry: config.Retry{BaseDelay: time.Second, MaxDelay: minute, Jitter: 0.1},
				Exit:  config.Exit{Dead: []int{64, 67}, Retry: []int{69, 137}, Other: config.OtherRetry},
			}
			v := supervisor.Judge(c.e)
			if v.Row != c.row || v.Outcome.Is != c.is || v.LeaseLost != (c.row == 1) {
				t.Errorf("row %d, %q, lost %v; want row %d, %q", v.Row, v.Outcome.Is, v.LeaseLost, c.row, c.is)
			}
			if !strings.Contains(v.Reason, c.reason) {
				t.Errorf("reason %q does not tell %q", v.Reason, c.reason)
			}
			if v.Outcome.Reason != v.Reason {
				t.Errorf("recorded reason %q, told %q", v.Outcome.Reason, v.Reason)
			}
			if want := c.row == 2 && c.is == queue.RunSnooze; v.Outcome.NotGiven != want {
				t.Errorf("not given: %v, want %v", v.Outcome.NotGiven, want)
			}
			if want := c.e.Stop == supervisor.StopShutdown; v.Outcome.CutShort != want {
				t.Errorf("cut short: %v, want %v", v.Outcome.CutShort, want)
			}
			if want := (queue.Backoff{Base: time.Second, Max: minute, Jitter: 0.1}); v.Outcome.Backoff != want {
				t.Errorf("backoff %v, want %v", v.Outcome.Backoff, want)
			}
		})
	}
}

// TestJudgeFailing: who is at fault when the job never reached the handler.
func TestJudgeFailing(t *testing.T) {
	t.Parallel()
	h := &config.Handler{Protocol: config.Lines}
	for _, c := range []struct {
		name string
		e    supervisor.Evidence
		want bool
	}{
		{"start", supervisor.Evidence{StartError: errors.New("x")}, true},
		{"given back", supervisor.Evidence{GivenBack: "stopping"}, false},
		{"died unread", supervisor.Evidence{Exit: exit(1), Untouched: true}, true},
		{"never read, timeout", supervisor.Evidence{Exit: exit(1), Untouched: true, Stop: supervisor.StopTimeout}, true},
		{"killed unread by shutdown", supervisor.Evidence{Exit: exit(1), Untouched: true, Stop: supervisor.StopAbort}, false},
		{"killed unread by cancel", supervisor.Evidence{Exit: exit(1), Untouched: true, Stop: supervisor.StopCancelled}, false},
		{"died at work", supervisor.Evidence{Exit: exit(1)}, false},
	} {
		c.e.Handler = h
		if v := supervisor.Judge(c.e); v.Failing != c.want {
			t.Errorf("%s: failing %v, want %v", c.name, v.Failing, c.want)
		}
	}
}

// TestJudgeOtherUncertain: exit.other decides row 5 alone.
func TestJudgeOtherUncertain(t *testing.T) {
	t.Parallel()
	h := &config.Handler{Protocol: config.Plain, Exit: config.Exit{Other: config.OtherUncertain}}
	v := supervisor.Judge(supervisor.Evidence{Handler: h, Exit: exit(3)})
	if v.Row != 5 || v.Outcome.Is != queue.RunUncertain {
		t.Errorf("row %d, %s; want row 5, uncertain", v.Row, v.Outcome.Is)
	}
}

// TestJudgeResults: which result is recorded.
func TestJudgeResults(t *testing.T) {
	t.Parallel()
	p, l := &config.Handler{Protocol: config.Plain}, &config.Handler{Protocol: config.Lines}
	withResult := &childproto.Outcome{Is: "done", Result: []byte(`"file"`)}
	for _, c := range []struct {
		name, want string
		note       bool
		e          supervisor.Evidence
	}{
		{"stdout", `"out"`, false, supervisor.Evidence{Handler: p, Exit: exit(0), Result: []byte(`"out"`)}},
		{"outcome file has its own", `"file"`, false, supervisor.Evidence{Handler: p, Exit: exit(0), Answer: withResult, Result: []byte(`"out"`)}},
		{"outcome file has none", `"out"`, false, supervisor.Evidence{Handler: p, Exit: exit(0), Answer: answer("done"), Result: []byte(`"out"`)}},
		{"stdout too big", "", true, supervisor.Evidence{Handler: p, Exit: exit(0), ResultTooBig: true}},
		{"message", `"file"`, false, supervisor.Evidence{Handler: l, Answer: withResult}},
		{"message too big", "", true, supervisor.Evidence{Handler: l, Answer: &childproto.Outcome{Is: "done", ResultTooBig: true}}},
	} {
		v := supervisor.Judge(c.e)
		if string(v.Outcome.Result) != c.want || v.Outcome.Is != queue.RunDone || (v.Reason != "") != c.note {
			t.Errorf("%s: %s with result %s, note %q; want result %s", c.name, v.Outcome.Is, v.Outcome.Result, v.Reason, c.want)
		}
	}
}

// TestJudgeLongReason: what a handler says is of any length, what is kept of it
// is not.
func TestJudgeLongReason(t *testing.T) {
	t.Parallel()
	h := &config.Handler{Protocol: config.Lines}
	for _, e := range []supervisor.Evidence{
		{Answer: &childproto.Outcome{Is: "dead", Reason: strings.Repeat("€", 1<<20)}},
		{Exit: died(syscall.SIGTERM), ProtocolError: errors.New(strings.Repeat("€", 1<<20))},
	} {
		e.Handler = h
		v := supervisor.Judge(e)
		if len(v.Reason) > queue.MaxReason || !strings.Contains(v.Reason, "€€€") || !strings.HasSuffix(v.Reason, "(truncated)") {
			t.Errorf("a reason of %d bytes: %.40q", len(v.Reason), v.Reason)
		}
		if v.Outcome.Reason != v.Reason {
			t.Errorf("recorded %.40q, told %.40q", v.Outcome.Reason, v.Reason)
		}
	}
}
