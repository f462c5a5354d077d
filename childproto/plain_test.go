package childproto_test

import (
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/b1213022/bailiff/childproto"
)

func TestStatusOutcome(t *testing.T) {
	t.Parallel()
	want := map[int]childproto.End{0: childproto.EndDone, 65: childproto.EndDead, 75: childproto.EndRetry, 76: childproto.EndUncertain}
	for status := range 256 {
		got, ok := childproto.StatusOutcome(status)
		end, named := want[status]
		if ok != named || got.Is != end {
			t.Errorf("StatusOutcome(%d) = %+v, %v, want %q, %v", status, got, ok, end, named)
		}
	}
}

func TestShellSignal(t *testing.T) {
	t.Parallel()
	want := map[int]syscall.Signal{
		132: syscall.SIGILL, 134: syscall.SIGABRT, 135: 7, 136: syscall.SIGFPE, 137: syscall.SIGKILL,
		139: syscall.SIGSEGV, 143: syscall.SIGTERM, 152: syscall.SIGXCPU, 153: syscall.SIGXFSZ, 159: 31,
	}
	for status := range 256 {
		got, ok := childproto.ShellSignal(status)
		signal, named := want[status]
		if ok != named || got != signal {
			t.Errorf("ShellSignal(%d) = %v, %v, want %v, %v", status, got, ok, signal, named)
		}
	}
}

func TestPlainResult(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		stdout, want string
		ok           bool
	}{
		"nothing":          {"", "", false},
		"a newline":        {"\n", "", false},
		"object":           {`{"a":1}`, `{"a":1}`, true},
		"final newline":    {"\"Hello, Ann\"\n", `"Hello, Ann"`, true},
		"pretty":           {"{\n  \"a\": 9007199254740993\n}\n", "{\n  \"a\": 9007199254740993\n}", true},
		"a number":         {"42\n", "42", true},
		"null":             {"null\n", "null", true},
		"two values":       {"{}\n{}\n", "", false},
		"a print before":   {"working\n{}\n", "", false},
		"duplicate names":  {`{"a":1,"a":2}`, "", false},
		"NaN":              {`{"a":NaN}`, "", false},
		"bad UTF-8":        {"\"\xff\"", "", false},
		"nested 50 deep":   {nested(50), nested(50), true},
		"nested 51 deep":   {nested(51), "", false},
		"nested for ever":  {strings.Repeat("[", 100_000), "", false},
		"words":            {"done\n", "", false},
		"half an object":   {`{"a":`, "", false},
		"carriage returns": {"{}\r\n", "{}", true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, ok := childproto.PlainResult([]byte(test.stdout))
			if ok != test.ok || string(got) != test.want {
				t.Errorf("PlainResult(%.60q) = %q, %v, want %q, %v", test.stdout, got, ok, test.want, test.ok)
			}
		})
	}
}

func TestPlainEnv(t *testing.T) {
	t.Parallel()
	job := exampleJob()
	got := childproto.PlainEnv(&job)
	slices.Sort(got)
	want := []string{
		"BAILIFF_ATTEMPT=1", "BAILIFF_DUE=2026-11-30T03:00:00Z", "BAILIFF_FENCE=1", "BAILIFF_IDEMPOTENCY_KEY=b3c1…",
		"BAILIFF_JOB_ID=17", "BAILIFF_KEY=inv-1001", "BAILIFF_KIND=charge", "BAILIFF_MAX_ATTEMPTS=20", "BAILIFF_META={}",
		"BAILIFF_PROTOCOL=plain", "BAILIFF_PROTOCOL_VERSION=1", "BAILIFF_TIMEOUT_AT=2026-11-30T04:00:00.120Z",
	}
	if !slices.Equal(got, want) {
		t.Errorf("PlainEnv\n got %q\nwant %q", got, want)
	}
	job.Timeout, job.TimeoutAt, job.Meta = 0, time.Time{}, jsontext.Value(`{"trace":"a"}`)
	got = childproto.PlainEnv(&job)
	if !slices.Contains(got, `BAILIFF_META={"trace":"a"}`) {
		t.Errorf("PlainEnv lacks the meta: %q", got)
	}
	if slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, "BAILIFF_TIMEOUT_AT") }) {
		t.Errorf("PlainEnv has a timeout that the job has not: %q", got)
	}
}

func TestLinesEnv(t *testing.T) {
	t.Parallel()
	want := []string{"BAILIFF_PROTOCOL=lines", "BAILIFF_PROTOCOL_VERSION=1"}
	if got := childproto.LinesEnv(); !slices.Equal(got, want) {
		t.Errorf("LinesEnv() = %q, want %q", got, want)
	}
}
