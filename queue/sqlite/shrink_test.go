package sqlite_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/b1213022/bailiff/queue"
)

// What was pruned takes no space any more, and one call never gives back much.
func TestPruneGivesSpaceBack(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	large := newJob("a", "")
	large.Payload = jsontext.Value(`"` + strings.Repeat("x", 1<<19) + `"`)
	const jobs = 24
	for i := range jobs {
		large.Key = fmt.Sprint(i)
		f.doneJob(large)
	}
	for i := range 3 { // at the end of the file
		f.add(newJob("b", fmt.Sprint(i)))
	}
	f.reopen()
	size := func() int64 {
		info, err := os.Stat(f.Path())
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	before := size()
	if before < jobs<<19 {
		t.Fatalf("%d bytes", before)
	}
	f.clock.Advance(time.Hour)
	p := queue.Pruning{Keep: anHour}
	first := f.prunes(p)
	if first.Jobs < 1 || first.Jobs > 8 || !first.More || first.Freed < 1 || first.Freed > 1<<20 {
		t.Errorf("first call: %+v", first)
	}
	rest := f.prunesAll(p)
	if first.Jobs+rest.Jobs != jobs {
		t.Errorf("pruned %d jobs, want %d", first.Jobs+rest.Jobs, jobs)
	}
	until(func() bool { return size() < before/4 }) // copied to the file while it is open
	f.reopen()
	if after := size(); after > 3<<19 || before-after != first.Freed+rest.Freed {
		t.Errorf("%d bytes of %d are left, %d were given back", after, before, first.Freed+rest.Freed)
	}
	if got := f.prunes(p); got != (queue.Pruned{}) {
		t.Errorf("once more: %+v", got)
	}
}
