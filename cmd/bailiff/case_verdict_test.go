package main

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Every way in which a handler can end, in both protocols: what its run is
// called, what becomes of the job, and the reason that a person reads in get and
// in history. N08 (deaths by signal and the statuses that stand for them), N14
// (an end without an outcome).
func TestHowRunsEnd(t *testing.T) {
	t.Parallel()
	s := newSite(t, endConfig())
	var jobs strings.Builder
	for _, way := range ways {
		for _, protocol := range protocols {
			s.write(way.kind(protocol)+".sh", preludes[protocol]+way.handler+"\n", 0o644)
			fmt.Fprintf(&jobs, `{"kind":%q,"key":"one"}`+"\n", way.kind(protocol))
		}
	}
	s.write("jobs.ndjson", jobs.String(), 0o644)
	s.run(0, "enqueue", "--from", "jobs.ndjson")
	s.run(0, "run", "--until-idle")
	if left := processesIn(s.dir); len(left) > 0 {
		t.Errorf("still running:\n%s", strings.Join(left, "\n"))
	}
	told := s.tellOf(ways)
	for _, way := range ways {
		told.endsAs(t, way.kind("plain"), way.plain)
		told.endsAs(t, way.kind("lines"), way.lines)
	}
}

// way is a way to end.
type way struct {
	name     string
	settings string // of its handlers
	handler  string // what comes after the prelude of its protocol, which gives it $id and answer
	plain    ending
	lines    ending
}

func (w way) kind(protocol string) string { return w.name + "-" + protocol }

// ending is what a run was. In the reason ID stands for the job's id, and dots at
// its end for more that depends on it. That a person decides is added to the
// reason of an uncertain run.
type ending struct{ is, reason, result string }

var protocols = []string{"plain", "lines"}

// preludes begin the handlers. answer TYPE [FIELDS] gives an outcome for job $id
// in the way of the protocol.
var preludes = map[string]string{
	"plain": `id=$BAILIFF_JOB_ID
answer() { printf '{"type":"%s","id":%d%s}\n' "$1" "$id" "$2" >> "$BAILIFF_OUTCOME"; }
echo 'last words' >&2
`,
	"lines": `echo '{"type":"ready","protocol":1}'
read -r job
id=${job#*'"id":'}
id=${id%%,*}
answer() { printf '{"type":"%s","id":%d%s}\n' "$1" "$id" "$2"; }
echo 'last words' >&2
`,
}

const (
	lastWords = "; last stderr line: last words"
	neverSaid = " without an outcome: it never said done, retry or dead" + lastWords
	atTimeout = "stopped at its timeout of 2s; "
	decides   = "; nothing proves what the run did: a person decides"
	by9       = "exit status 137 (the way of a shell to say that its command was killed by SIGKILL)"

	limited = "timeout = \"2s\"\n" // long enough for a shell to set its traps
)

var ways = []way{
	{"prints-nothing", "", ``,
		ending{is: "done"},
		ending{is: "uncertain", reason: "exit status 0" + neverSaid}},
	{"prints-garbage", "", `echo 'no JSON at all'`,
		ending{is: "done"},
		ending{is: "uncertain", reason: "exit status 0" + neverSaid}},
	{"prints-half-a-message", "", `echo '{"type":"done"'`,
		ending{is: "done"},
		ending{is: "uncertain", reason: `broken protocol: not strict JSON: it ends in the middle of a value (byte 14), near {"type":"done"; exit status 0` + lastWords}},
	{"forgets-the-newline", "", `printf '{"type":"done","id":%d}' $id`,
		ending{is: "done", result: `{"type":"done","id":ID}`},
		ending{is: "uncertain", reason: "broken protocol: stdout ended within a line; exit status 0" + lastWords}},
	{"only-progress", "", `[ $BAILIFF_PROTOCOL = plain ] || answer progress ',"percent":50'; exit 0`,
		ending{is: "done"},
		ending{is: "uncertain", reason: "exit status 0" + neverSaid}},

	{"exits-1", "", `exit 1`,
		ending{is: "retry", reason: "exit status 1" + lastWords},
		ending{is: "uncertain", reason: "exit status 1" + neverSaid}},
	{"exits-65", "", `exit 65`,
		ending{is: "dead", reason: "exit status 65" + lastWords},
		ending{is: "uncertain", reason: "exit status 65" + neverSaid}},
	{"exits-75", "", `exit 75`,
		ending{is: "retry", reason: "exit status 75" + lastWords},
		ending{is: "uncertain", reason: "exit status 75" + neverSaid}},
	{"exits-76", "", `exit 76`,
		ending{is: "uncertain", reason: "exit status 76" + lastWords},
		ending{is: "uncertain", reason: "exit status 76" + neverSaid}},
	{"exits-137", "", `exit 137`,
		ending{is: "uncertain", reason: by9 + lastWords},
		ending{is: "uncertain", reason: by9 + neverSaid}},

	{"kills-itself", "", `kill -9 $$`,
		ending{is: "uncertain", reason: "killed by SIGKILL" + lastWords},
		ending{is: "uncertain", reason: "killed by SIGKILL" + neverSaid}},
	{"faults", "", `ulimit -c 0; kill -SEGV $$`,
		ending{is: "uncertain", reason: "killed by SIGSEGV" + lastWords},
		ending{is: "uncertain", reason: "killed by SIGSEGV" + neverSaid}},
	{"terminates-itself", "", `kill -TERM $$`,
		ending{is: "uncertain", reason: "killed by SIGTERM" + lastWords},
		ending{is: "uncertain", reason: "killed by SIGTERM" + neverSaid}},

	{"sleeps-past-its-timeout", limited, `exec sleep 60`,
		ending{is: "uncertain", reason: atTimeout + "killed by SIGTERM" + lastWords},
		ending{is: "uncertain", reason: atTimeout + "killed by SIGTERM without an outcome" + lastWords}},
	{"is-silent", "liveness = \"1s\"\n", `exec sleep 60`,
		ending{is: "uncertain", reason: "stopped after it had been silent for 1s (liveness); killed by SIGTERM" + lastWords},
		ending{is: "uncertain", reason: "stopped after it had been silent for 1s (liveness); killed by SIGTERM without an outcome" + lastWords}},
	{"closes-stdout", limited, `exec >&-; exec sleep 60`,
		ending{is: "uncertain", reason: atTimeout + "killed by SIGTERM" + lastWords},
		ending{is: "uncertain", reason: "broken protocol: it closed its stdout" + lastWords}},
	{"ignores-term", limited, `trap '' TERM; sleep 60; sleep 60`,
		ending{is: "uncertain", reason: atTimeout + "killed by SIGKILL" + lastWords},
		ending{is: "uncertain", reason: atTimeout + "killed by SIGKILL without an outcome" + lastWords}},
	{"catches-term-exits-255", limited, `trap 'exit 255' TERM; sleep 60 & wait`,
		ending{is: "uncertain", reason: atTimeout + "exit status 255" + lastWords},
		ending{is: "uncertain", reason: atTimeout + "exit status 255 without an outcome" + lastWords}},
	{"catches-term-exits-0", limited, `trap 'exit 0' TERM; sleep 60 & wait`,
		ending{is: "uncertain", reason: atTimeout + "exit status 0, which proves nothing after it was told to stop" + lastWords},
		ending{is: "uncertain", reason: atTimeout + "exit status 0 without an outcome" + lastWords}},
	{"catches-term-exits-75", limited, `trap 'exit 75' TERM; sleep 60 & wait`,
		ending{is: "retry", reason: atTimeout + "exit status 75" + lastWords},
		ending{is: "uncertain", reason: atTimeout + "exit status 75 without an outcome" + lastWords}},
	{"catches-term-answers", limited, `trap "answer retry ',\"reason\":\"half way\"'; exit 0" TERM; sleep 60 & wait`,
		ending{is: "retry", reason: atTimeout + "half way"},
		ending{is: "retry", reason: atTimeout + "half way"}},

	{"answers-for-another-job", "", `id=1${id}; answer done`,
		ending{is: "uncertain", reason: `BAILIFF_OUTCOME holds no outcome: "id": this job is ID, near {"type":"done","id":1ID}\n; exit status 0` + lastWords},
		ending{is: "uncertain", reason: "broken protocol: done for job 1ID, which it does not have (its job is ID); exit status 0" + lastWords}},
	{"answers-twice", "", `answer done ',"result":7'; answer dead ',"reason":"second thoughts"'`,
		ending{is: "uncertain", reason: `BAILIFF_OUTCOME holds no outcome: not strict JSON: more text after the value…`},
		ending{is: "done", result: "7"}},
	{"answers-and-crashes", "", `answer done ',"result":7'; kill -9 $$`,
		ending{is: "done", result: "7"},
		ending{is: "done", result: "7"}},
	{"fails-and-crashes", "", `answer retry ',"reason":"the tape is full"'; ulimit -c 0; kill -SEGV $$`,
		ending{is: "retry", reason: "the tape is full"},
		ending{is: "retry", reason: "the tape is full"}},
	{"prints-and-answers", "", `echo 'Loading model…'; answer dead ',"reason":"no such film"'; echo bye`,
		ending{is: "dead", reason: "no such film"},
		ending{is: "dead", reason: "no such film"}},
	{"snoozes", "", `answer snooze ',"after_ms":3600000'`,
		ending{is: "snooze"},
		ending{is: "snooze"}},
}

// endConfig has a handler for each way and protocol, none of which is tried
// again while the test looks.
func endConfig() string {
	var b strings.Builder
	for _, way := range ways {
		for _, protocol := range protocols {
			fmt.Fprintf(&b, `
handler %q {
  command  = ["sh", %q]
  protocol = %q
  grace    = "400ms"
  %s
  retry {
    base_delay = "1h"
    max_delay  = "1h"
  }
}
`, way.kind(protocol), way.kind(protocol)+".sh", protocol, way.settings)
		}
	}
	return b.String()
}

// becomes is the state of a job after one run of a handler that may not be
// repeated, with attempts left.
var becomes = map[string]string{
	"done": "done", "dead": "dead", "retry": "scheduled", "snooze": "scheduled", "uncertain": "quarantined",
}

// toldEnds is what the program tells of the jobs afterwards.
type toldEnds struct {
	site   *site
	byKind map[string]endedJob
	people string // get for people, of all jobs
}

type endedJob struct {
	ID        int64          `json:"id"`
	Kind      string         `json:"kind"`
	State     string         `json:"state"`
	Attempt   int            `json:"attempt"`
	LastError string         `json:"last_error"`
	Result    jsontext.Value `json:"result"`
}

func (s *site) tellOf(ways []way) *toldEnds {
	s.t.Helper()
	ids := []string{"get"}
	for i := range 2 * len(ways) {
		ids = append(ids, strconv.Itoa(i+1))
	}
	told := &toldEnds{s, map[string]endedJob{}, s.run(0, ids...)}
	for line := range strings.Lines(s.run(0, append(ids, "--json")...)) {
		var job endedJob
		if err := json.Unmarshal([]byte(line), &job); err != nil {
			s.t.Fatal(err)
		}
		told.byKind[job.Kind] = job
	}
	return told
}

// endsAs compares what is told of the job kind/one.
func (told *toldEnds) endsAs(t *testing.T, kind string, want ending) {
	t.Helper()
	job := told.byKind[kind]
	attempt := 1
	if want.is == "snooze" {
		attempt = 0
	}
	if job.State != becomes[want.is] || job.Attempt != attempt {
		t.Errorf("%s is %s in attempt %d, want %s in attempt %d", kind, job.State, job.Attempt, becomes[want.is], attempt)
	}
	id := strconv.FormatInt(job.ID, 10)
	if got, want := string(job.Result), cmp.Or(strings.ReplaceAll(want.result, "ID", id), "null"); got != want {
		t.Errorf("%s has the result %s, want %s", kind, got, want)
	}
	if want.reason == "" {
		if job.LastError != "" {
			t.Errorf("%s has the reason %s, want none", kind, job.LastError)
		}
		return
	}
	reason, open := strings.CutSuffix(strings.ReplaceAll(want.reason, "ID", id), "…")
	if want.is == "uncertain" && !open {
		reason += decides
	}
	if job.LastError != reason && !(open && strings.HasPrefix(job.LastError, reason)) {
		t.Errorf("%s: last_error is\n%s\nwant\n%s", kind, job.LastError, reason)
	}
	if !strings.Contains(told.people, "last error "+reason) {
		t.Errorf("%s: get does not tell a person: %s", kind, reason)
	}
	history := told.site.history(id)
	settled := historyEntry{Event: want.is, From: "leased", To: job.State, Attempt: 1, Fence: 1, Detail: job.LastError}
	if len(history) != 3 || history[2] != settled {
		t.Errorf("%s: its history is\n%+v\nwant enqueue, claim and\n%+v", kind, history, settled)
	}
}
