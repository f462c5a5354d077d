package supervisor_test

import (
	"testing"

	"github.com/b1213022/bailiff/supervisor"
)

// TestRegistry: a run gives up its own place alone, and counts until it is over.
func TestRegistry(t *testing.T) {
	t.Parallel()
	g := supervisor.NewRegistry()
	first, early, next := g.Run(1), g.Run(1), g.Run(1)
	for _, step := range []struct {
		name  string
		do    func() bool
		want  bool
		count int
	}{
		{"the first begins", func() bool { return g.Add(first) }, true, 1},
		{"another cannot beside it", func() bool { return g.Add(early) }, false, 2},
		{"which is recorded", func() bool { g.Yield(early); return true }, true, 2},
		{"and changes nothing of the first", func() bool { return g.Add(next) }, false, 3},
		{"the first lives no more", func() bool { g.Yield(first); return true }, true, 3},
		{"so another can begin", func() bool { return g.Add(g.Run(1)) }, true, 4},
		{"while they end", func() bool { g.Remove(first); g.Remove(early); g.Remove(next); return true }, true, 1},
		{"nor is the new one's place given up", func() bool { return g.Add(g.Run(1)) }, false, 2},
	} {
		if got := step.do(); got != step.want || g.Count() != step.count {
			t.Errorf("%s: %v, %d runs; want %v, %d", step.name, got, g.Count(), step.want, step.count)
		}
	}
}
