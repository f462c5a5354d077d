package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/b1213022/bailiff/queue"
)

// filterFlags are the flags that select jobs, as they were given.
type filterFlags struct {
	states    []string
	kind      string
	key       string
	olderThan string
	stuck     bool // for those who have a flag for it
}

// register adds the flags to a command about jobs that can be in these states.
func (f *filterFlags) register(a *app, cmd *cobra.Command, states []string) {
	flags := cmd.Flags()
	flags.StringSliceVar(&f.states, "state", nil, "only in this `STATE` (may be repeated)")
	flags.StringVar(&f.kind, "kind", "", "only of this `KIND`")
	flags.StringVar(&f.key, "key", "", "only with keys that begin with `PREFIX`")
	flags.StringVar(&f.olderThan, "older-than", "", "only in their state for longer than `DURATION`")
	completeFlag(cmd, "state", func() []string { return states })
	completeFlag(cmd, "kind", a.kinds)
}

// filter is what the flags say.
func (f *filterFlags) filter() (queue.Filter, error) {
	out := queue.Filter{Kind: f.kind, KeyPrefix: f.key, Stuck: f.stuck}
	for _, s := range f.states {
		if !slices.Contains(queue.States(), queue.State(s)) {
			return out, advise(usage("--state %s is no state", escape(s)), "states: %s", strings.Join(stateNames(), " "))
		}
		out.States = append(out.States, queue.State(s))
	}
	if f.olderThan != "" {
		var err error
		if out.OlderThan, err = parseSpan("--older-than", f.olderThan); err != nil {
			return out, err
		}
	}
	return out, out.Check()
}

// none reports whether the flags select all jobs there are.
func (f *filterFlags) none() bool {
	return len(f.states) == 0 && f.kind == "" && f.key == "" && f.olderThan == ""
}
