package supervisor

import (
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/hashicorp/go-hclog"
)

// What the log keeps of a child's output.
const (
	maxLogLine = 4 << 10 // bytes of one line
	maxRunLog  = 1 << 20 // bytes that one run adds to it; what comes after is counted and dropped
	lineCost   = 192     // bytes of a log line beside the text: time, level, kind, job, …
)

// logTranscript writes what a child prints beside the protocol to the log,
// with the job it has at that moment. Safe for use by several goroutines.
type logTranscript struct {
	log hclog.Logger

	mu      sync.Mutex
	job     int64 // 0: none
	fence   int64
	written int // bytes of log, about
	dropped int // lines
}

// turn begins a run; job 0 is the time between two.
func (t *logTranscript) turn(job, fence int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.noteDropped()
	t.job, t.fence = job, fence
	t.written, t.dropped = 0, 0
}

func (t *logTranscript) sent([]byte)     {}
func (t *logTranscript) received([]byte) {}

func (t *logTranscript) printed(line []byte, cut bool) { t.write("stdout", line, cut) }
func (t *logTranscript) stderr(line []byte, cut bool)  { t.write("stderr", line, cut) }

func (t *logTranscript) write(stream string, line []byte, cut bool) {
	if len(line) > maxLogLine {
		line, cut = line[:maxLogLine], true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.written > maxRunLog {
		t.dropped++
		return
	}
	text := visible(string(line))
	if cut {
		text += "… (truncated)"
	}
	if t.written += logCost(text); t.written > maxRunLog {
		t.dropped++
		return
	}
	if t.job == 0 {
		t.log.Info("handler output", "stream", stream, "line", text)
		return
	}
	t.log.Info("handler output", "job", t.job, "fence", t.fence, "stream", stream, "line", text)
}

// logCost is what a line adds to the log at most, about: the log, in lines for
// people or in JSON, has escapes of its own.
func logCost(text string) int {
	n := lineCost
	for _, r := range text {
		switch {
		case r == '"' || r == '\\' || r == '\t':
			n += 2
		case r == '<' || r == '>' || r == '&':
			n += 6
		case !unicode.IsPrint(r):
			n += 10
		default:
			n += utf8.RuneLen(r)
		}
	}
	return n
}

func (t *logTranscript) noteDropped() {
	if t.dropped > 0 {
		t.log.Warn("handler printed too much: the rest was not logged", "job", t.job, "fence", t.fence, "lines", t.dropped)
	}
}

// visible escapes what could move a terminal's cursor, hide text or break a
// line: control characters, marks of writing direction, bytes that are no
// UTF-8. Other text stays as it is.
func visible(s string) string {
	if !strings.ContainsFunc(s, hidden) && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && size == 1:
			b.WriteString(`\x` + strconv.FormatUint(uint64(s[0])|0x100, 16)[1:])
		case hidden(r):
			quoted := strconv.QuoteRuneToASCII(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		default:
			b.WriteString(s[:size])
		}
		s = s[size:]
	}
	return b.String()
}

func hidden(r rune) bool {
	return r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029')
}
