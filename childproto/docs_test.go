package childproto_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/b1213022/bailiff/childproto"
)

// The exchange in docs/protocol.md is what the code reads and writes, byte for
// byte.
func TestDocumentedExchange(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	_, exchange, _ := strings.Cut(string(text), "```text\n")
	exchange, _, _ = strings.Cut(exchange, "```")
	job := exampleJob()
	fromBailiff := []string{
		string(childproto.AppendJob(nil, &job)),
		string(childproto.AppendCancel(nil, 17, childproto.CancelShutdown, 10*time.Second)),
	}
	fromChild := []childproto.Type{childproto.TypeReady, childproto.TypeProgress, childproto.TypeDone}
	for line := range strings.Lines(exchange) {
		if said, ok := strings.CutPrefix(line, "→ "); ok && len(fromBailiff) > 0 {
			if said != fromBailiff[0] {
				t.Errorf("documented\n%sis written as\n%s", said, fromBailiff[0])
			}
			fromBailiff = fromBailiff[1:]
			continue
		}
		said, ok := strings.CutPrefix(line, "← ")
		if !ok || len(fromChild) == 0 {
			t.Fatalf("a line that nobody expects: %q", line)
		}
		m, err := childproto.ParseMessage([]byte(strings.TrimSuffix(said, "\n")))
		if err != nil || m.Type != fromChild[0] {
			t.Errorf("%sis read as %q, %v, want %q", said, m.Type, err, fromChild[0])
		}
		if again := string(childproto.AppendMessage(nil, &m)); again != said {
			t.Errorf("documented\n%sis written as\n%s", said, again)
		}
		fromChild = fromChild[1:]
	}
	if len(fromBailiff)+len(fromChild) > 0 {
		t.Errorf("the document lacks %q and %q", fromBailiff, fromChild)
	}
}
