package shellword_test

import (
	"os/exec"
	"testing"

	"github.com/b1213022/bailiff/internal/shellword"
)

func TestQuote(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"/srv/q.db": "/srv/q.db", "": "''", "/srv/my q.db": "'/srv/my q.db'",
		"/srv/it's": `'/srv/it'\''s'`, "/$x": "'/$x'", "é\u202e": "'é\u202e'",
	} {
		got := shellword.Quote(word)
		if got != want {
			t.Errorf("%q: got %s, want %s", word, got, want)
		}
		out, err := exec.Command("sh", "-c", "printf %s "+got).Output()
		if err != nil || string(out) != word {
			t.Errorf("a shell reads %s as %q, %v", got, out, err)
		}
	}
}
