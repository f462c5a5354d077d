package childproto

import (
	"bytes"
	"strconv"
	"syscall"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/b1213022/bailiff/internal/strictjson"
)

// The exit statuses that say an outcome under plain. All but done are taken from
// sysexits.h, where they are EX_DATAERR, EX_TEMPFAIL and EX_PROTOCOL.
const (
	StatusDone      = 0
	StatusDead      = 65
	StatusRetry     = 75
	StatusUncertain = 76
)

// StatusOutcome is what an exit status says under plain whatever the handler's
// configuration; false for a status that says nothing by itself. There is no
// status for a snooze: it is told in BAILIFF_OUTCOME.
func StatusOutcome(status int) (Outcome, bool) {
	switch status {
	case StatusDone:
		return Outcome{Is: EndDone}, true
	case StatusDead:
		return Outcome{Is: EndDead}, true
	case StatusRetry:
		return Outcome{Is: EndRetry}, true
	case StatusUncertain:
		return Outcome{Is: EndUncertain}, true
	}
	return Outcome{}, false
}

// ShellSignal is the signal by which a shell's child died, where the shell then
// exits with this status: 128 + the signal's number (POSIX, Shell Command
// Language, 2.8.2, leaves the number to the shell; sh, dash, bash and zsh do
// so). Only signals are answered that end a program which did not ask for it;
// 129 (HUP), 130 (INT) and others are statuses like any.
func ShellSignal(status int) (syscall.Signal, bool) {
	switch status {
	case 132, 134, 135, 136, 137, 139, 143, 152, 153, 159:
		// 4 ILL, 6 ABRT, 7 BUS, 8 FPE, 9 KILL, 11 SEGV, 15 TERM, 24 XCPU, 25 XFSZ, 31 SYS (Linux)
		return syscall.Signal(status - 128), true
	}
	return 0, false
}

// PlainResult is the result in a plain handler's stdout: all of it, if that is
// one strict JSON value nested at most MaxDepth deep, without white space around
// it. It shares stdout's memory. Of a stdout longer than MaxResult and its final
// newline it can tell nothing unless it is given all of it.
func PlainResult(stdout []byte) (jsontext.Value, bool) {
	text := bytes.Trim(stdout, " \t\r\n")
	if strictjson.Check(text, MaxDepth) != nil {
		return nil, false
	}
	return jsontext.Value(text), true
}

// PlainEnv is the environment, each NAME=value, that tells a plain handler of
// its job. BAILIFF_META is {} for a job without meta, BAILIFF_TIMEOUT_AT is not
// there for a job without a timeout. What tells of the machine (BAILIFF_DB,
// BAILIFF_BIN, BAILIFF_OUTCOME) is its supervisor's to add.
func PlainEnv(j *Job) []string {
	meta := string(j.Meta)
	if meta == "" {
		meta = "{}"
	}
	env := []string{
		"BAILIFF_PROTOCOL=plain",
		protocolVersion,
		"BAILIFF_JOB_ID=" + strconv.FormatInt(j.ID, 10),
		"BAILIFF_KIND=" + j.Kind,
		"BAILIFF_KEY=" + j.Key,
		"BAILIFF_IDEMPOTENCY_KEY=" + j.IdempotencyKey,
		"BAILIFF_FENCE=" + strconv.FormatInt(j.Fence, 10),
		"BAILIFF_ATTEMPT=" + strconv.Itoa(j.Attempt),
		"BAILIFF_MAX_ATTEMPTS=" + strconv.Itoa(j.MaxAttempts),
		"BAILIFF_DUE=" + formatTime(j.DueAt),
		"BAILIFF_META=" + meta,
	}
	if j.Timeout > 0 {
		env = append(env, "BAILIFF_TIMEOUT_AT="+formatTime(j.TimeoutAt))
	}
	return env
}

// LinesEnv is the environment that tells a child which protocol is spoken with
// it. It is the same for all its jobs.
func LinesEnv() []string { return []string{"BAILIFF_PROTOCOL=lines", protocolVersion} }

var protocolVersion = "BAILIFF_PROTOCOL_VERSION=" + strconv.Itoa(Version)
