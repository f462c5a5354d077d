package handlertest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/b1213022/bailiff/childproto"
)

// documented writes the first code block in this language of docs/protocol.md
// into an executable file.
func documented(t *testing.T, language, name string) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, found := strings.Cut(string(text), "```"+language+"\n")
	block, _, closed := strings.Cut(block, "```")
	if !found || !closed {
		t.Fatalf("docs/protocol.md has no handler in %s", language)
	}
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(block), 0o700); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestDocumentedShell(t *testing.T) {
	t.Parallel()
	file := documented(t, "sh", "count.sh")
	if status, stdout, stderr := plain(t, []string{"sh", file}, `{"a":1}`); status != 0 || stdout != "{\"bytes\":7}\n" {
		t.Errorf("exit status %d, stdout %q, stderr %q", status, stdout, stderr)
	}
	if status, _, stderr := plain(t, []string{"sh", file}, `"`+strings.Repeat("x", 1000)+`"`); status != 65 || stderr != "payload too long\n" {
		t.Errorf("exit status %d, stderr %q, want dead", status, stderr)
	}
}

func TestDocumentedPython(t *testing.T) {
	t.Parallel()
	need(t, "python3")
	c := startLines(t, "python3", documented(t, "python", "count.py"))
	for id := range int64(2) {
		if got := c.run(id+1, `{"a":1,"b":2}`); got.Is != childproto.EndDone || string(got.Result) != "2" {
			t.Errorf("%+v, want done with 2", got)
		}
	}
	c.finish()
}

func TestDocumentedNode(t *testing.T) {
	t.Parallel()
	need(t, "node")
	file := documented(t, "js", "greet.mjs")
	if status, stdout, stderr := plain(t, []string{"node", file}, `{"name":"Ann"}`); status != 0 || stdout != "{\"greeting\":\"Hello, Ann\"}\n" {
		t.Errorf("exit status %d, stdout %q, stderr %q", status, stdout, stderr)
	}
	if status, _, _ := plain(t, []string{"node", file}, `{}`); status != 65 {
		t.Errorf("exit status %d, want dead", status)
	}
}

func TestDocumentedGo(t *testing.T) {
	t.Parallel()
	need(t, "go")
	binary := build(t, documented(t, "go", "main.go"))
	if status, stdout, stderr := plain(t, []string{binary}, `{"a":1}`); status != 0 || stdout != "{\"bytes\":7}\n" {
		t.Errorf("exit status %d, stdout %q, stderr %q", status, stdout, stderr)
	}
	c := startLines(t, binary)
	if got := c.run(1, `{"a":1}`); got.Is != childproto.EndDone || string(got.Result) != `{"bytes":7}` {
		t.Errorf("%+v, want done", got)
	}
	c.finish()
}
