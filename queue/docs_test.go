package queue_test

import (
	"os"
	"strings"
	"testing"

	"github.com/b1213022/bailiff/queue"
)

// The page for those who carry on the work shows the table the code goes by.
func TestDesignPageShowsTheTransitions(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/design.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(page), "<!-- transitions: printed by queue.Table, compared by a test -->\n")
	if !found {
		t.Fatal("docs/design.md has no place for the transitions")
	}
	printed, _, _ := strings.Cut(rest, "<!-- end -->")
	if want := "\n" + queue.Table() + "\n"; printed != want {
		t.Errorf("docs/design.md shows\n%s\nqueue.Table prints\n%s", printed, want)
	}
}
