package supervisor_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/b1213022/bailiff/supervisor"
)

// TestLogOfARun: whatever a run prints, the log grows by so much at most, and
// what was left out is told.
func TestLogOfARun(t *testing.T) {
	t.Parallel()
	const lines = 100_000
	for _, text := range []string{"", "x", strings.Repeat("x", 1000), "\x00\x1b\xff", "<&>", `"\`, "\t", "\u00a0\U000f0000"} {
		for _, json := range []bool{false, true} {
			var log bytes.Buffer
			supervisor.FloodLog(hclog.New(&hclog.LoggerOptions{
				Name: "bailiff", Output: &log, JSONFormat: json,
			}).With("kind", "an.ordinary-kind"), strings.Repeat(text, 4), lines)
			size, written := log.Len(), strings.Count(log.String(), "handler output")
			if most := supervisor.MaxRunLog * 21 / 20; size > most || size < most/4 {
				t.Errorf("%q, JSON %v: %d bytes of log, want at most %d and not much less", text, json, size, most)
			}
			told := fmt.Sprintf("lines=%d\n", lines-written)
			if json {
				told = fmt.Sprintf(`"lines":%d}`, lines-written)
			}
			if !strings.Contains(log.String(), told) {
				t.Errorf("%q, JSON %v: %d lines were written; want %q in the log", text, json, written, told)
			}
		}
	}
}
